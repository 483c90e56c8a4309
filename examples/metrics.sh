#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# metrics: four samplers of this machine send their samples to one reader, while they are killed.
#
# Each sampler reads a file of /proc again and again and publishes a line of it into a ring of its own,
# of one event region; one reader takes from all rings. One sampler is stopped meanwhile: the others are
# heard. Another one and the reader are killed with SIGKILL five times each, and started again: the
# sampler goes on behind the last sample that it published, the reader behind the last line that it wrote.
# At the end each sample of each sampler was taken, once, in its order.
#
# usage: metrics.sh [SAMPLES]
set -euo pipefail

samples=${1:-400}
files=(/proc/stat /proc/diskstats /proc/net/dev /proc/meminfo)
name=metrics-$$
work=$(mktemp -d)
trap 'kill -CONT $(jobs -p) 2>/dev/null || true; kill $(jobs -p) 2>/dev/null || true; wait
    rm -rf "$work"; rapahub region rm "$name" 2>/dev/null || true' EXIT

# Every line is the number of a sample, and the third line of the file.
sample() { for ((i = $2; i <= samples; i++)); do echo "$i $(sed -n 3p "$1")"; done; }
taken() { grep -c "^$1:" "$work/taken" || true; }

publishers=()
start_sampler() {
    sample "${files[$1]}" "$2" 2>"$work/errors.$1" | rapahub region publish "$name" --index "$1" &
    publishers[$1]=$!
}

start_reader() {
    rapahub region tail "$name" -f --ack after --position >>"$work/taken" &
    reader=$!
}

# A line is in the file before its message is done, so an empty ring is one whose lines are all there.
wait_until_taken() { until rapahub region inspect "$name" | grep -q "^producer $1 .* 0 of 16 messages"; do :; done; }
last() { grep "^$1:" "$work/taken" | tail -n 1 | cut -d' ' -f2 || true; }

: >"$work/taken"
rapahub region create "$name" --kind fanin --producers "${#files[@]}" --cells 16 --cell-bytes 512 --quiet
start_reader
for index in "${!files[@]}"; do start_sampler "$index" 1; done

until [ "$(taken 1)" -ge 20 ] || [ "$(taken 1)" -ge "$samples" ]; do :; done
kill -STOP "${publishers[1]}"
kills=0
while [ "$kills" -lt 5 ]; do
    before=$(taken 2)
    until [ "$(taken 2)" -ge $((before + 20)) ] || [ "$(taken 2)" -ge "$samples" ]; do :; done
    kill -KILL "${publishers[0]}" "$reader"
    wait "${publishers[0]}" "$reader" 2>/dev/null || true
    start_reader
    wait_until_taken 0
    next=$(last 0)
    start_sampler 0 $((${next:-0} + 1))
    kills=$((kills + 1))
done
stopped=$(taken 1)
kill -CONT "${publishers[1]}"
wait "${publishers[@]}"
for index in "${!files[@]}"; do wait_until_taken "$index"; done
kill "$reader"
wait "$reader" 2>/dev/null || true

# A line that came twice has the same position both times.
sort -u "$work/taken" | sort -t: -k1,1n -k2,2n | tr ':' ' ' >"$work/distinct"
lost=$((samples * ${#files[@]} - $(wc -l <"$work/distinct")))
wrong=$(awk '$3 != $2 + 1' "$work/distinct" | wc -l)
echo "$(wc -l <"$work/distinct") samples of ${#files[@]} samplers; lost $lost, out of order $wrong"
echo "a sampler and the reader were killed $kills times each; one was stopped with $stopped taken"
[ "$lost" = 0 ] && [ "$wrong" = 0 ]
