# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# compile: a build for each preset.
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh

jobs=$(nproc)

# Quiet unless it fails: the log is shown then.
logged() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        say "all of it: $log"
        return 1
    fi
}

# build PRESET [cmake option...]: into build/PRESET, or where -B says.
build() {
    local preset=$1 folder=build/$1 start=$SECONDS
    shift
    say "building $folder"
    logged "$folder/configure.log" cmake --preset "$preset" -B "$folder" "$@" &&
        logged "$folder/build.log" cmake --build "$folder" -j "$jobs" &&
        say "built $folder: $((SECONDS - start)) s"
}
