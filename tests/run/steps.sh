# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# steps: what passed and what failed, counted.

passed=0
failed=0

# Runs one check: a line, and what it found if it found something.
step() {
    local name=$1 output start=$SECONDS
    shift
    if output=$("$@" 2>&1); then
        printf '%-12s ok      %3d s\n' "$name" $((SECONDS - start))
        passed=$((passed + 1))
    else
        printf '%-12s FAILED  %3d s\n' "$name" $((SECONDS - start))
        printf '%s\n' "$output"
        failed=$((failed + 1))
    fi
}

# Reads lines "KIND passed failed skipped seconds"; the last one may be missing.
report() {
    local where=$1 kind good wrong skipped seconds
    while read -r kind good wrong skipped seconds; do
        printf '%-14s %-12s %5d passed %5d failed %5d skipped%s\n' "$kind" "$where" "$good" "$wrong" "$skipped" \
            "${seconds:+$(printf ' %5d s' "$seconds")}"
        passed=$((passed + good))
        failed=$((failed + wrong))
    done
}
