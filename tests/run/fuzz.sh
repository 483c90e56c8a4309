# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# fuzz: the fuzzers.
# shellcheck source=tests/run/compile.sh
. tests/run/compile.sh
# shellcheck source=tests/run/steps.sh
. tests/run/steps.sh

readonly fuzz_runs=10000000 # of each target, in the long tests

# One fuzzer, as often as it shall; what it finds stays in build/fuzz, named after it.
one_fuzzer() {
    local name=${1##*/fuzz_} folder=build/fuzz/found log start=$SECONDS runs
    log=build/fuzz/$name.log
    mkdir -p "$folder/$name"
    "$1" -runs="$fuzz_runs" -artifact_prefix="$folder/$name-" -print_final_stats=1 \
        "$folder/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1
    local result=$?
    runs=$(awk '/^stat::number_of_executed_units/ {print $2}' "$log")
    printf 'fuzz %-12s %10d executions, %s, %d s\n' "$name" "${runs:-0}" \
        "$([ "$result" = 0 ] && echo '0 crashes' || echo "FAILED: $log")" $((SECONDS - start))
    return "$result"
}
export -f one_fuzzer
export fuzz_runs

fuzz() {
    local before count
    need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    say 'building build/fuzz'
    if ! logged build/fuzz/configure.log cmake --preset fuzz ||
        ! logged build/fuzz/build.log cmake --build build/fuzz -j "$jobs" --target fuzzers; then
        say 'FAILED: build/fuzz'
        failed=$((failed + 1))
        return 0
    fi
    rm -rf build/fuzz/found
    before=$SECONDS
    find build/fuzz/tests -name 'fuzz_*' -type f -perm -u+x -print0 | sort -z >build/fuzz/list
    # shellcheck disable=SC2016
    xargs -0 -r -P "$jobs" -n 1 bash -c 'one_fuzzer "$0" || true' <build/fuzz/list |
        tee build/fuzz/report.log
    count=$(grep -c '0 crashes' build/fuzz/report.log || true)
    report "$((SECONDS - before)) s" <<<"fuzz $count $(($(tr -cd '\0' <build/fuzz/list | wc -c) - count)) 0"
}
