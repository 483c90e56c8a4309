#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# regions: shells that send each other work through an event region, while they are killed.
#
# Four shells publish the names of the files of a folder. A router gives each name to one of three
# workers, which take it with its position and count the bytes of the file. Five times a worker's
# `rapahub region tail` and the router are killed with SIGKILL in the middle of it, and started again.
# A worker acknowledges a name when its line is written: so no name is lost, and one that comes twice
# has the same position. The sum over distinct positions is that of one plain loop.
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
taken() { cat "$work"/taken.* | wc -l; }

tails=()
readers=()
start_worker() {
    count <"$work/pipe.$1" >>"$work/taken.$1" &
    readers[$1]=$!
    rapahub region tail "$name" --consumer "$1" -f --ack after --position >"$work/pipe.$1" &
    tails[$1]=$!
}

# The reader of the pipe goes on to its end.
stop_worker() {
    kill "-$2" "${tails[$1]}"
    wait "${tails[$1]}" 2>/dev/null || true
    wait "${readers[$1]}"
}

start_router() {
    rapahub region route "$name" &
    router=$!
}

stop_router() {
    kill "-$1" "$router"
    wait "$router" 2>/dev/null || true
}

find "$folder" -type f | LC_ALL=C sort | awk "NR <= $files" >"$work/plain"
files=$(lines "$work/plain")
rapahub region create "$name" --kind fanout --mode work --consumers 3 --credit park --credit-max 4 \
    --cells 16 --cell-bytes 4096 --quiet
for worker in 0 1 2; do
    mkfifo "$work/pipe.$worker"
    : >"$work/taken.$worker"
    start_worker "$worker"
done
start_router

publishers=()
for part in 0 1 2 3; do
    awk "NR % 4 == $part" "$work/plain" | rapahub region publish "$name" &
    publishers+=($!)
done

kills=0
while [ "$kills" -lt 5 ]; do
    before=$(taken)
    until [ "$(taken)" -ge $((before + 10)) ] || [ "$(taken)" -ge "$files" ]; do :; done
    stop_router KILL
    stop_worker $((kills % 3)) KILL
    start_worker $((kills % 3))
    start_router
    kills=$((kills + 1))
done
wait "${publishers[@]}"
until rapahub region stat "$name" | grep -q ' depth 0 '; do :; done
until [ "$(rapahub region inspect "$name" | grep -c '^consumer .* 0 of 4 messages')" = 3 ]; do :; done
stop_router TERM
for worker in 0 1 2; do stop_worker "$worker" TERM; done

sort -n -u -k 1,1 "$work"/taken.* >"$work/distinct"
sum=$(awk '{ sum += $2 } END { print sum }' "$work/distinct")
plain=$(tr '\n' '\0' <"$work/plain" | xargs -0 cat | wc -c)
lost=$(($(lines "$work/plain") - $(lines "$work/distinct")))
twice=$(($(taken) - $(lines "$work/distinct")))
echo "$(lines "$work/distinct") files, $sum bytes; a plain loop: $plain bytes"
echo "router and workers were killed $kills times each; lost $lost, came twice $twice"
[ "$lost" = 0 ] && [ "$sum" = "$plain" ]
