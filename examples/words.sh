#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# words: a plugin counts the words of lines that a shell publishes, while it is killed.
#
# The lines of the texts of a folder go into one event region, a plugin takes them by its role there, and
# publishes the position of each line with its count of words into another one. The plugin is killed with
# SIGKILL ten times meanwhile; the host starts it again, with both roles. A line that it died over comes
# again, with the same position: so the sum over distinct positions is what `wc -w` says.
#
# usage: words.sh FOLDER_OF_WORDS [FOLDER [LINES]]: where words.so is; texts
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${2:-/usr/share/common-licenses}
most=${3:-20000}
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work # the host is this script's own
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"
    rapahub region rm "$lines" 2>/dev/null || true; rapahub region rm "$counts" 2>/dev/null || true' EXIT
lines=lines-$$
counts=counts-$$

taken() { wc -l <"$work/taken"; }
distinct() { sort -u "$work/taken" | wc -l; }
host_runs() { kill -0 "$host" 2>/dev/null || { cat "$work/log" >&2; exit 1; }; }

find -L "$folder" -type f -exec cat {} + | grep . | tr -d '\000' | awk "NR <= $most" >"$work/text"
most=$(wc -l <"$work/text")
sed "s/: lines,/: $lines,/; s/: counts,/: $counts,/; s|words.so|$1/words.so|" "$here/words.yaml" >"$work/words.yaml"
: >"$work/taken"

rapahub run "$work/words.yaml" >"$work/log" 2>&1 &
host=$!
until rapahub region inspect "$counts" >/dev/null 2>&1; do host_runs; done
rapahub region tail "$counts" -f --ack after >"$work/taken" &
rapahub region publish "$lines" --on-full block <"$work/text" &
publisher=$!

kills=0
while [ "$kills" -lt 10 ]; do
    until [ "$(taken)" -ge $(((kills + 1) * most / 12)) ]; do host_runs; done
    rapahub kill words >/dev/null 2>&1 || continue # the next life has not come yet
    kills=$((kills + 1))
done
wait "$publisher"
until [ "$(distinct)" -ge "$most" ]; do host_runs; done

sum=$(sort -u "$work/taken" | awk '{ words += $2 } END { print words }')
wanted=$(wc -w <"$work/text")
echo "$most lines, $sum words, where wc counts $wanted; the plugin was killed $kills times"
echo "$(($(taken) - most)) lines came a second time"
[ "$sum" = "$wanted" ]
