# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# check: the rules of the house.
# shellcheck source=tests/run/compile.sh
. tests/run/compile.sh
# shellcheck source=tests/run/steps.sh
. tests/run/steps.sh

c_folders=(hub host guest-sdk chimods cluster examples tests)

# The arrows between the folders as they are, without the number of includes.
picture() {
    python3 tests/architecture/check_layers.py --mermaid 2>/dev/null | sed -E 's/\|[0-9]+\|//'
}

picture_in_docs() {
    sed -n '/^<!-- picture -->$/,/^<!-- end of picture -->$/p' docs/architecture.md | grep -Ev '^(<!--|```|$)'
}

check_picture() {
    diff <(picture_in_docs) <(picture) ||
        { echo 'docs/architecture.md: the picture is not that of the includes: ./run format draws it'; return 1; }
}

c_files() { find "${c_folders[@]}" \( -name '*.[ch]' -o -name '*.cc' \) -print0; }

check_format() { c_files | xargs -0 clang-format --dry-run -Werror; }

check_spelling() {
    codespell -q 35 --skip '*/data/*,*/corpus/*,build*,.git' --ignore-words-list te,inflight,stopp,fo \
        README.md CHANGELOG.md CONTRIBUTING.md run docs "${c_folders[@]}"
}

check_shell() {
    { printf '%s\0' run .ci/run; find tests docs -name '*.sh' -print0; } | xargs -0 shellcheck -x
}

# Leaks are left to the sanitizers and valgrind: it does not know what goes with its scope (OWN), nor
# can it read every TAKE.
check_cpp() {
    cppcheck -q -j "$jobs" --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppress=unknownMacro --suppress=memleak --suppress=resourceLeak --suppress=internalAstError \
        --error-exitcode=1 -D_GNU_SOURCE -D__x86_64__=1 \
        -Ihub/include -Iguest-sdk/include -Ihost/include -I. \
        hub host guest-sdk chimods cluster examples
}

# Reads how each file is compiled; gcc's own warnings are no names for it.
# Also shows the warnings of clang, which only the long tests build with. Left out is what is not compiled without
# other libraries, or an option.
check_lint() {
    find "${c_folders[@]}" -name '*.c' ! -path 'tests/bench/peers/*' ! -name trace_scenario.c -print0 |
        xargs -0 -P "$jobs" -n 8 clang-tidy --quiet -p build/release --extra-arg=-Wno-unknown-warning-option \
            --extra-arg=-Wno-ignored-optimization-argument --extra-arg=-Wthread-safety
}

# Circles of files and arrows of folders, by what the objects need of each other.
check_calls() { python3 tests/architecture/check_calls.py build/release; }

# Only names of ours leave a library, only rapahub_chimod a chimod.
check_symbols() {
    local file names wrong=0
    for file in build/release/lib*/librapahub*.so; do
        names=$(nm -D --defined-only "$file" | awk '$2 != "A" {print $3}' | grep -v '^rapahub_' || true)
        [ -z "$names" ] || { echo "$file: exports" "$names"; wrong=1; }
    done
    for file in build/release/lib*/rapahub/*.so; do
        names=$(nm -D --defined-only "$file" | awk '$2 != "A" {print $3}' | grep -vx 'rapahub_chimod' || true)
        [ -z "$names" ] || { echo "$file: exports" "$names"; wrong=1; }
    done
    return "$wrong"
}

check_sources() {
    local name
    for name in layers functions house rules words; do
        step "$name" python3 "tests/architecture/check_$name.py"
    done
    step checkers python3 tests/architecture/test_checkers.py
    step picture check_picture
    step format check_format
    step spelling check_spelling
    step shell check_shell
    step cppcheck check_cpp
}

check() {
    need "${build_packages[@]}" "${test_packages[@]}"
    check_sources
    step build build release
    step calls check_calls
    step symbols check_symbols
    step lint check_lint
    [ "$failed" = 0 ]
}
