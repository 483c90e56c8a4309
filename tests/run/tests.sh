# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# tests: all checks and all tests.
# shellcheck source=tests/run/check.sh
. tests/run/check.sh
# shellcheck source=tests/run/suites.sh
. tests/run/suites.sh
# shellcheck source=tests/run/valgrind.sh
. tests/run/valgrind.sh
# shellcheck source=tests/run/arm64.sh
. tests/run/arm64.sh
# shellcheck source=tests/run/long.sh
. tests/run/long.sh

# The unit programs that can start no thread, by what they need of other libraries, for the preset tsan.
list_without_threads() {
    local program symbols
    for program in build/release/tests/test_unit_*; do
        symbols=$(nm -D --undefined-only "$program") || continue
        grep -qE ' (pthread_create|thrd_create|timer_create|dlopen|rapahub_[a-z_]+)(@|$)' <<<"$symbols" || basename "$program"
    done >build/without_threads
    say "$(wc -l <build/without_threads) unit programs can start no thread: ThreadSanitizer is spared them"
}

# These have each thread of a node at work, of one and of several; the others do the same things longer.
clusters_under_tsan() {
    [ -z "$long" ] || { echo . && return; }
    echo '^cluster/(node|node_copies|two_nodes|holders|joined|recover|acked_kills|client_streams|shared_memory|etcd_node)$'
}

# What the release build's tests leave of the CPUs builds the others, in the order in which they are needed.
tests_ahead() {
    local presets=(clang)
    ! has_arm64_packages || presets+=(arm64)
    build_ahead "${presets[@]}" asan tsan
}

tests() {
    [ "${1-}" != --long ] || long=yes
    need "${build_packages[@]}" "${test_packages[@]}"
    local start=$SECONDS waiting=8 # programs at once that wait for most of their time
    build_ahead release # most checks of the sources are one process each
    check_sources
    if built release; then
        list_without_threads
        tests_ahead
        step calls check_calls
        step symbols check_symbols
        step lint check_lint
        run_tests release -j "$jobs" -L unit
        run_tests release -j "$waiting" -L waits
        run_tests release -j "$jobs" -LE 'unit|waits'
        show_tables release
        step 'main job' build/release/bin/archive
        under_valgrind
    fi
    ! built clang || run_tests clang -j "$jobs" -L unit
    arm64
    if built asan; then
        run_tests asan -j "$waiting" -L waits
        run_tests asan -j "$jobs" -LE 'install|architecture|fault|models|bench|waits'
        step 'main job asan' build/asan/bin/archive --limit 8
    fi
    if built tsan; then
        run_tests tsan -j "$waiting" -L waits -L 'integration|cluster'
        run_tests tsan -j "$jobs" -L 'unit|integration' -LE waits
        run_tests tsan -j "$jobs" -L cluster -LE waits -R "$(clusters_under_tsan)"
    fi
    [ -z "$long" ] || long_tests
    say "$((SECONDS - start)) s; programs of the cluster: $cluster s"
    [ "$unsteady" = 0 ] || say "$unsteady unsteady: their output is above"
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
