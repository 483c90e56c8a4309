#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install: what is installed is enough. Installs a build into a fresh prefix; every public header
# compiles there alone, as C11 and as C++17; the examples are built against it, through pkg-config and
# through find_package, and run.
#
# usage: install.sh SOURCE BUILD CC LIBDIR
set -euo pipefail

readonly source=$1 build=$2 cc=$3 libdir=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/rapahub-install-XXXXXX")
trap 'rm -rf "$work"' EXIT
readonly prefix=$work/prefix
readonly warnings=(-Wall -Wextra -Wpedantic -Werror)

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Runs a command quietly; shows what it said if it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "$*"
    }
}

expect() {
    local wanted=$1 got
    shift
    got=$("$@") || fail "$* ended with $?"
    [ "$got" = "$wanted" ] || fail "$*: '$got' instead of '$wanted'"
}

config() { PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --define-variable=prefix="$prefix" "$@"; }

headers_compile_alone() {
    local header name count=0
    for header in "$prefix"/include/rapahub/*.h; do
        name=$(basename "$header")
        printf '#include <rapahub/%s>\n#include <rapahub/%s>\nextern int nothing;\n' "$name" "$name" >"$work/alone.c"
        cp "$work/alone.c" "$work/alone.cc"
        quietly "$cc" -std=c11 "${warnings[@]}" -Wmissing-prototypes -I"$prefix/include" -fsyntax-only "$work/alone.c"
        quietly "${CXX:-c++}" -std=c++17 "${warnings[@]}" -I"$prefix/include" -fsyntax-only "$work/alone.cc"
        count=$((count + 1))
    done
    [ "$count" -ge 10 ] || fail "only $count headers are installed"
}

examples_build_by_pkg_config() {
    local flags
    mkdir "$work/plain"
    read -ra flags <<<"$(config --cflags --libs rapahub-guest)"
    quietly "$cc" -std=c11 "${warnings[@]}" -shared -fPIC -fvisibility=hidden -o "$work/plain/counter.so" \
        "$source/examples/counter.c" "${flags[@]}"
    read -ra flags <<<"$(config --cflags --libs rapahub)"
    quietly "$cc" -std=c11 "${warnings[@]}" -o "$work/plain/counter_host" "$source/examples/counter_host.c" \
        "${flags[@]}" -Wl,-rpath,"$prefix/$libdir"
    cd "$work/plain"
    expect 'total is 5' ./counter_host
}

examples_build_by_find_package() {
    mkdir "$work/cmake"
    cat >"$work/cmake/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(installed C)
find_package(Threads REQUIRED)
find_package(rapahub 0.1 REQUIRED COMPONENTS host guest OPTIONAL_COMPONENTS cluster)
rapahub_add_chimod(counter SOURCES ${EXAMPLES}/counter.c)
add_executable(counter_host ${EXAMPLES}/counter_host.c)
target_link_libraries(counter_host PRIVATE rapahub::host)
file(GLOB common ${EXAMPLES}/archive_*.c)
list(FILTER common EXCLUDE REGEX "archive_node.*")
add_executable(archive ${EXAMPLES}/archive.c ${common})
target_compile_definitions(archive PRIVATE _GNU_SOURCE CHIMODS="${rapahub_CHIMOD_DIR}")
target_link_libraries(archive PRIVATE rapahub::host Threads::Threads)
if(TARGET rapahub::cluster)
  add_executable(node_client ${EXAMPLES}/node_client.c)
  target_link_libraries(node_client PRIVATE rapahub::cluster)
  add_executable(archive_node ${EXAMPLES}/archive_node.c ${EXAMPLES}/archive_node_kills.c ${common})
  target_compile_definitions(archive_node PRIVATE _GNU_SOURCE CHIMODS="${rapahub_CHIMOD_DIR}"
    COUNTER="$<TARGET_FILE:counter>" RAPAHUBD="${PREFIX}/bin/rapahubd" RAPAHUB="${PREFIX}/bin/rapahub")
  target_link_libraries(archive_node PRIVATE rapahub::cluster Threads::Threads)
endif()
EOF
    quietly cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DEXAMPLES="$source/examples" -DPREFIX="$prefix"
    quietly cmake --build "$work/cmake/build"
    cd "$work/cmake/build"
    expect 'total is 5' ./counter_host
    expect "$(printf 'rapahub_chimod')" sh -c "nm -D --defined-only counter.so | awk '{print \$3}'"
    if [ -e "$prefix/$libdir/rapahub/codec.so" ]; then
        mkdir files
        cp "$source/README.md" "$source/LICENSE" files
        quietly ./archive --kills 0 files
        [ ! -e "$prefix/bin/rapahubd" ] || quietly ./archive_node --kills 0 files
    fi
}

programs_work() {
    expect 42 "$prefix/bin/rapahub" call "$prefix/$libdir/rapahub/echo.so:i64" 42
    expect 5 "$prefix/bin/rapahub" call "$work/plain/counter.so:add" 5
}

quietly cmake --install "$build" --prefix "$prefix"
headers_compile_alone
examples_build_by_pkg_config
examples_build_by_find_package
programs_work
echo "the examples work from an installed prefix"
