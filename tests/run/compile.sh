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

# The targets of a preset; none: all of them. For arm64 only what its unit tests need is built.
targets_of() {
    case $1 in
    arm64) echo --target rapahub rapahub_guest rapahub_program rapahub_guest_program unit_tests ;;
    esac
}

# build_now PRESET [cmake option...]: into build/PRESET, or where -B says.
build_now() {
    local preset=$1 folder=build/$1 start=$SECONDS targets
    shift
    read -ra targets <<<"$(targets_of "$preset")"
    say "building $folder"
    logged "$folder/configure.log" cmake --preset "$preset" -B "$folder" "$@" &&
        logged "$folder/build.log" cmake --build "$folder" -j "$jobs" "${targets[@]}" &&
        say "built $folder: $((SECONDS - start)) s"
}

ahead=()       # presets that are built in the background
ahead_process= # which builds them

# With what the CPUs have left: most tests leave one of them idle.
build_each() {
    local preset result
    chrt --idle --pid 0 "$BASHPID" || renice -n 19 "$BASHPID" || true
    for preset in "${ahead[@]}"; do
        result=0
        build_now "$preset" || result=$?
        echo "$result" >"build/ahead.$preset.new"
        mv "build/ahead.$preset.new" "build/ahead.$preset"
    done
}

# build_ahead PRESET...: one after the other, in the background. `build` waits for them.
build_ahead() {
    ahead=("$@")
    mkdir -p build
    rm -f "${ahead[@]/#/build/ahead.}"
    set -m # a group of its own, which can be ended
    build_each >build/ahead.log 2>&1 &
    ahead_process=$!
    set +m
    trap 'kill -- "-$ahead_process" 2>/dev/null || true' EXIT
}

await_ahead() {
    local start=$SECONDS
    while [ ! -e "build/ahead.$1" ] && kill -0 "$ahead_process" 2>/dev/null; do sleep 0.1; done
    if [ "$(cat "build/ahead.$1")" != 0 ]; then
        tail -n 60 build/ahead.log >&2
        return 1
    fi
    say "built build/$1 in the background; waited $((SECONDS - start)) s"
}

# build PRESET [cmake option...]: the same as build_now, or waits for what is built in the background.
build() {
    local preset
    for preset in "${ahead[@]}"; do
        if [ "$preset" = "$1" ]; then
            await_ahead "$1"
            return
        fi
    done
    build_now "$@"
}
