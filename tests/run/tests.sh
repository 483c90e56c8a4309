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

# These read each kind of bytes that comes from others, and end each part of a node; the others kill it more often.
clusters_under_asan() {
    [ -z "$long" ] || { echo . && return; }
    echo "^cluster/(node|node_copies|two_nodes|holders|recover|leave|client_streams|client_streams_abuse|shared_memory$(
    )|shared_memory_abuse|etcd_node|etcd_cluster|network_abuse|identity|detection|guest_queries|dynamic|command$(
    )|renewal|restore|join|mesh)\$"
}

# What the release build's tests leave of the CPUs builds the others, in the order in which they are needed.
tests_ahead() {
    local presets=()
    ! has_arm64_packages || presets+=(arm64)
    build_ahead "${presets[@]}" asan tsan
}

tests() {
    [ "${1-}" != --long ] || long=yes
    need "${build_packages[@]}" "${test_packages[@]}"
    local start=$SECONDS waiting=8 # programs at once that wait for most of their time
    local more=$((jobs + 1))       # that wait for some of it
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
    arm64
    if built asan; then
        run_tests asan -j "$waiting" -L waits
        run_tests asan -j "$more" -LE 'install|architecture|fault|models|bench|cluster|waits' -E 'simulation/.*mutants'
        run_tests asan -j "$more" -L cluster -LE waits -R "$(clusters_under_asan)"
        step 'main job asan' build/asan/bin/archive --limit 8
    fi
    if built tsan; then
        run_tests tsan -j "$waiting" -L waits -L 'integration|cluster'
        run_tests tsan -j "$more" -L 'unit|integration' -LE waits
        run_tests tsan -j "$more" -L cluster -LE waits -R "$(clusters_under_tsan)"
    fi
    [ -z "$long" ] || long_tests
    say "$((SECONDS - start)) s; programs of the cluster: $cluster s"
    [ "$unsteady" = 0 ] || say "$unsteady unsteady: their output is above"
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
