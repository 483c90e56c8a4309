#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# regions: shells that send each other work through an event region, while one of them is killed.
#
# Four shells publish the names of the files of a folder. One takes them, each with its position, and
# counts the bytes of the files. Its `rapahub region tail` is killed with SIGKILL five times in the middle
# of it, and started again. It acknowledges a name when its line is written: so no name is lost, and one
# that comes twice has the same position. The sum over distinct positions is that of one plain loop.
#
# usage: regions.sh [FOLDER [FILES]]
set -euo pipefail

folder=${1:-/usr/share/doc}
files=${2:-1000}
name=regions-$$
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"; rapahub region rm "$name" 2>/dev/null || true' EXIT

count() { while read -r position file; do echo "$position $(wc -c <"$file")"; done; }
lines() { wc -l <"$1"; }

start() {
    count <"$work/pipe" >>"$work/taken" &
    reader=$!
    rapahub region tail "$name" -f --ack after --position >"$work/pipe" &
    tail=$!
}

# The reader of the pipe goes on to its end.
stop() {
    kill "-$1" "$tail"
    wait "$tail" 2>/dev/null || true
    wait "$reader"
}

find "$folder" -type f | LC_ALL=C sort | awk "NR <= $files" >"$work/plain"
files=$(lines "$work/plain")
mkfifo "$work/pipe"
: >"$work/taken"
rapahub region create "$name" --kind mpsc --cells 16 --cell-bytes 4096 --quiet

publishers=()
for part in 0 1 2 3; do
    awk "NR % 4 == $part" "$work/plain" | rapahub region publish "$name" &
    publishers+=($!)
done

kills=0
while [ "$kills" -lt 5 ]; do
    before=$(lines "$work/taken")
    start
    until [ "$(lines "$work/taken")" -ge $((before + 10)) ] || [ "$(lines "$work/taken")" -ge "$files" ]; do :; done
    stop KILL
    kills=$((kills + 1))
done
start
wait "${publishers[@]}"
until rapahub region stat "$name" | grep -q ' depth 0 '; do :; done
stop TERM

sort -n -u -k 1,1 "$work/taken" >"$work/distinct"
sum=$(awk '{ sum += $2 } END { print sum }' "$work/distinct")
plain=$(tr '\n' '\0' <"$work/plain" | xargs -0 cat | wc -c)
lost=$(($(lines "$work/plain") - $(lines "$work/distinct")))
twice=$(($(lines "$work/taken") - $(lines "$work/distinct")))
echo "$(lines "$work/distinct") files, $sum bytes; a plain loop: $plain bytes"
echo "the tail was killed $kills times; lost $lost, came twice $twice"
[ "$lost" = 0 ] && [ "$sum" = "$plain" ]
