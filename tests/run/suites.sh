# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# suites: runs the suites of ctest, and tells what is broken from what is unsteady.
# shellcheck source=tests/run/compile.sh
. tests/run/compile.sh
# shellcheck source=tests/run/steps.sh
. tests/run/steps.sh

long=
unsteady=0
cluster=0 # seconds

# Reads the log of ctest: for each kind "KIND passed failed skipped seconds". A program is a test for each of
# its cmocka tests, or one. The seconds are those of all programs, of which several run at a time.
count_tests() {
    awk '
        /^[0-9]+\/[0-9]+ Test: / { name = $3; sub(/\/.*/, "", name); ok = bad = skipped = 0 }
        /^Test time = /           { seconds[name] += $4 }
        /^\[       OK \] /       { ok++ }
        /^\[  SKIPPED \] [a-z_]/ { skipped++ }
        / FAILED TEST\(S\)$/     { bad += $1 }
        /^Test (Passed|Failed|Skipped)|^Unable to find executable|^Test Not Run/ {
            kinds[name] = 1
            skips[name] += $2 == "Skipped." ? 1 : skipped
            if ($2 == "Passed.")
                good[name] += ok > 0 || skipped > 0 ? ok : 1
            else if ($2 != "Skipped.") {
                good[name] += ok
                wrong[name] += bad > 0 ? bad : 1
            }
        }
        END { for (name in kinds) printf "%s %d %d %d %.0f\n", name, good[name], wrong[name], skips[name], seconds[name] }
    ' "$1" | sort
}

# cluster_seconds LOG SECONDS: the share of the programs with `cluster` in their names in the seconds that all took,
# of which several run at a time.
cluster_seconds() {
    awk -v took="$2" '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
        /^Test time = / { all += $4; if (name ~ /cluster/) seconds += $4 }
        END { printf "%.0f\n", (all > 0 ? took * seconds / all : 0) }' "$1"
}

# Sanitizers of these compilers cannot map their memory where addresses are spread too far.
near_addresses() {
    case $1 in
    asan | tsan) setarch "$(uname -m)" -R true 2>/dev/null && echo setarch "$(uname -m)" -R ;;
    esac
    return 0
}

# A crash or a finding of a sanitizer has no excuse; but a cmocka test that fails leaves memory and threads, which
# says nothing.
is_proof() {
    local found='AddressSanitizer: [^0-9]|WARNING: ThreadSanitizer: |LeakSanitizer|runtime error:|\*\*\*Exception|Subprocess aborted|with exception:'
    if grep -q ' FAILED TEST(S)$' "$1"; then
        grep -vE 'LeakSanitizer|ThreadSanitizer: thread leak' "$1" | grep -qE "$found"
    else
        grep -qE "$found" "$1"
    fi
}

# passes_alone BUILD [ctest prefix...]: the programs that failed run again, each three times and with
# nothing beside it: a machine that stood still for a moment is told apart from what is broken.
passes_alone() {
    local build=build/$1 result=0 names
    shift
    ! is_proof "$build/ctest.log" || return 1
    names=$(cut -d: -f2- "$build/Testing/Temporary/LastTestsFailed.log" | paste -sd '|')
    cp -r "$build/Testing/Temporary" "$build/Testing/First"
    # By their names: --rerun-failed counts tests that an -E had left out, and runs others.
    "$@" ctest --test-dir "$build" -R "^($names)\$" --repeat until-fail:3 --output-on-failure \
        >"$build/alone.log" 2>&1 || result=$?
    rm -r "$build/Testing/Temporary"
    mv "$build/Testing/First" "$build/Testing/Temporary"
    return "$result"
}

# Counted apart from what passed and what failed; for the long tests it has failed.
note_unsteady() {
    say "UNSTEADY: $1: failed once, then passed three times alone"
    unsteady=$((unsteady + 1))
    [ -z "$long" ] || failed=$((failed + 1))
}

# run_tests BUILD [ctest option...]: what fails is shown, and nothing that fails is not counted.
run_tests() {
    local name=$1 result=0 before=$failed start=$SECONDS prefix program
    shift
    read -ra prefix <<<"$(near_addresses "$name")"
    "${prefix[@]}" ctest --test-dir "build/$name" --output-on-failure "$@" >"build/$name/ctest.log" 2>&1 || result=$?
    [ "$result" = 0 ] || grep -v ' Passed ' "build/$name/ctest.log" || true
    report "$name" < <(count_tests "build/$name/Testing/Temporary/LastTest.log")
    cluster=$((cluster + $(cluster_seconds "build/$name/Testing/Temporary/LastTest.log" $((SECONDS - start)))))
    if [ "$result" != 0 ] && [ "$failed" = "$before" ]; then
        failed=$((failed + 1))
    fi
    if [ "$result" = 8 ] && passes_alone "$name" "${prefix[@]}"; then
        failed=$before
        while IFS=: read -r _ program; do
            note_unsteady "$program ($name)"
        done <"build/$name/Testing/Temporary/LastTestsFailed.log"
    fi
}

# What sweeps and models print of themselves: how much was tried, and how often it failed.
show_tables() {
    sed -nE 's/^[0-9]+: //; / 0 points /d; /^[a-z ,]+\| .* \| +[0-9]+ points \|/p
        /^[a-z]+ +[-A-Z_]+ +[0-9.e+]+ states/p; /^SKIPPED: /p' "build/$1/Testing/Temporary/LastTest.log"
}

# Builds, or counts a failure.
built() {
    build "$@" && return 0
    say "FAILED: build/$1"
    failed=$((failed + 1))
    return 1
}
