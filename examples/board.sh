#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# board: a state board of this machine: a writer puts the load, the memory and all processes on it, and
# readers look at it, while the writer is killed.
#
# The writer reads /proc and puts the whole board as one value, behind its checksum, again and again. It
# is killed with SIGKILL at some moment, and started again: the next one takes over at once, and needs
# no repair. Readers copy the board meanwhile, and check it: none of them is torn, and each reader
# always gets one.
#
# usage: board.sh [KILLS [READERS]]
set -euo pipefail

kills=${1:-20} readers=${2:-4}
name=board-$$
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait
    rm -rf "$work"; rapahub region rm "$name" --wait 5s 2>/dev/null || true' EXIT

look() {
    cat /proc/loadavg
    grep -E '^Mem(Total|Available)' /proc/meminfo
    folders=(/proc/[0-9]*)
    for folder in "${folders[@]:0:60}"; do
        cut -d' ' -f1-3,14,15,24 "$folder/stat" 2>/dev/null || true
    done
}

# One board: the checksum of its lines, and its lines.
put_one() {
    look >"$work/lines"
    { sha256sum <"$work/lines"; cat "$work/lines"; } >"$work/board"
    rapahub region put "$name" <"$work/board"
}

# Also the one who follows tries again: the one before may be dying still.
write_boards() { while :; do put_one || true; done; }

version() { rapahub region stat "$name" | cut -d' ' -f2; }

# A board that is whole has the checksum of its lines in its first line.
read_boards() {
    while [ ! -e "$work/end" ]; do
        if ! rapahub region get "$name" >"$work/got.$1"; then
            echo missing
        elif [ "$(head -n 1 "$work/got.$1")" = "$(tail -n +2 "$work/got.$1" | sha256sum)" ]; then
            echo whole
        else
            echo torn
        fi
    done
}

rapahub region create "$name" --kind state-latch --value-bytes 65536 --quiet
put_one
readings=()
for ((i = 0; i < readers; i++)); do
    read_boards "$i" >"$work/seen.$i" &
    readings+=($!)
done
for ((i = 0; i < kills; i++)); do
    # The whole group: the program that has the role dies with its shell.
    setsid bash -c "$(declare -f look put_one write_boards); name=$name work=$work; write_boards" 2>/dev/null &
    writer=$!
    before=$(version)
    rapahub region get "$name" --watch -n $((2 + i % 3)) >"$work/watched"
    kill -KILL -- -"$writer"
    wait "$writer" 2>/dev/null || true
    after=$(version)
    [ "$after" -gt "$before" ] || { echo "version $after after $before" >&2; exit 1; }
done
touch "$work/end"
wait "${readings[@]}"
echo "$(cat "$work"/seen.* | wc -l) boards were read by $readers readers, the last one is version $after"
echo "the writer was killed $kills times; torn $(cat "$work"/seen.* | grep -c torn || true)," \
    "missing $(cat "$work"/seen.* | grep -c missing || true)"
! grep -q -e torn -e missing "$work"/seen.*
