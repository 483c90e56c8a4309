#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# explore: all that can happen in a model, and in each of its broken variants. The model itself must
# hold, and be explored to its end; each variant that its head lists as MUTANT_NAME must be found
# out, or the model could not fail. BOUNDs are those of the model that must hold; the variants are found
# out with the small ones it has by itself. The verifiers are made in WORK, and stay there with what
# they found: spin -p -t -k MODEL.pml.trail -DMUTANT_NAME MODEL shows the way to it.
#
# usage: explore.sh MODEL WORK [-DBOUND=NUMBER...]
set -euo pipefail

readonly memory_mb=1400
command -v spin >/dev/null || { echo 'SKIPPED: there is no spin here to explore the models (apt install spin)'; exit 77; }
model=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
shift 2
bounds=("$@")
name=$(basename "$model" .pml)
failures=0

# explore_one VARIANT [BOUND...]: its log goes to standard output.
explore_one() {
    local folder=$work/$name-$1
    rm -rf "$folder"
    mkdir -p "$folder"
    cd "$folder"
    local optimize=-O0
    [ "$1" != NONE ] || optimize=-O2
    spin -a -DMUTANT_"$1" "${@:2}" "$model"
    "${CC:-cc}" "$optimize" -w -DSAFETY -DCOLLAPSE -DMEMLIM=$memory_mb -o pan pan.c
    ./pan -m200000
}

# What went wrong in a broken variant is said too: it must be what the break leads to.
report() {
    local variant=$1 log states errors seconds memory found=
    log=$( (explore_one "$@") 2>&1) || true
    errors=$(grep -oE 'errors: [0-9]+' <<<"$log" | grep -oE '[0-9]+' || echo none)
    states=$(grep -oE '[0-9e+.]+ states, stored' <<<"$log" | cut -d' ' -f1 || echo 0)
    seconds=$(grep -oE 'elapsed time [0-9.e+-]+' <<<"$log" | cut -d' ' -f3 || echo 0)
    memory=$(grep -oE '[0-9.]+.total actual memory' <<<"$log" | grep -oE '^[0-9]+' || echo 0)
    if [ "$variant" = NONE ]; then
        if [ "$errors" = 0 ] && ! grep -qE 'not completed|search depth too small' <<<"$log"; then
            found='holds'
        fi
    else
        found=$(sed -nE 's/^pan:1: (assertion violated|invalid end) ([^-].*) \(at depth .*/found out: \2/p' <<<"$log")
    fi
    printf '%-8s %-14s %9s states %5s errors %6s s %5s MB  %s\n' "$name" "${variant/NONE/-}" "$states" "$errors" \
        "$seconds" "$memory" "${found:-FAILED}"
    if [ -z "$found" ]; then
        failures=$((failures + 1))
        tail -n 40 <<<"$log"
    fi
}

report NONE "${bounds[@]}"
while read -r variant; do
    report "$variant"
done < <(grep -oE '^ \*   MUTANT_[A-Z_]+' "$model" | sed 's/.*MUTANT_//')
[ "$failures" = 0 ]
