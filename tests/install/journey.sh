#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# journey: what a newcomer types, from nothing to a plugin that survives its own death, in an empty
# folder with an installed prefix; and what the program says when something is typed wrong.
#
# usage: journey.sh BUILD LIBDIR
set -euo pipefail

readonly build=$1 libdir=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/rapahub-journey-XXXXXX")
readonly prefix=$work/prefix
export PATH=$prefix/bin:$PATH XDG_RUNTIME_DIR=$work/run PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
warden=
unset CC # what `rapahub build` takes by itself

end() {
    rapahub stop calc >/dev/null 2>&1 || true
    [ -z "$warden" ] || kill "$warden" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap end EXIT

fail() {
    echo "FAILED: $*" >&2
    cat "$work/out" "$work/err" "$work/host.log" >&2 2>/dev/null || true
    exit 1
}

# expect STATUS OUTPUT COMMAND...: standard output, whole; standard error stays in err.
expect() {
    local status=$1 output=$2 got=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$status" ] || fail "$*: status $got instead of $status"
    [ "$(cat "$work/out")" = "$output" ] || fail "$*: not the output '$output'"
}

says() { grep -qF -- "$1" "$work/err" || fail "nothing says '$1'"; }

# Waits until a line of the host's log matches; 10 s at most.
logged() {
    # shellcheck disable=SC2016
    timeout 10 sh -c 'until grep -q -- "$1" "$2"; do sleep 0.05; done' - "$1" "$work/host.log" ||
        fail "no line '$1'"
}

pid_of_guest() { rapahub ps --json | grep -o '"pid": *[0-9]*' | head -1 | grep -o '[0-9]*$'; }

cmake --install "$build" --prefix "$prefix" >/dev/null
mkdir -m 700 "$XDG_RUNTIME_DIR"
cd "$work"

rapahub new calc >"$work/out" 2>"$work/err" || fail 'rapahub new calc'
cd calc
rapahub build >"$work/out" 2>"$work/err" || fail 'rapahub build'
expect 0 42 rapahub call build/calc.so:add 40 2
expect 12 '' rapahub call build/calc.so:divide 1 0
says 'division by zero'

rapahub run build/calc.so >"$work/host.log" 2>&1 &
host=$!
logged 'calc: ready'
expect 0 42 rapahub call calc.add 40 2
kill -9 "$(pid_of_guest)"
logged 'restart 1 of 5'
expect 0 42 rapahub call calc.add 40 2

expect 3 '' rapahub call calc.ad 40 2
says 'near: add(i64, i64) -> i64'
expect 2 '' rapahub call calc.add 40
says 'takes 2 arguments, 1 given'
expect 2 '' rapahub call calc.add 40 x
says "argument 2 of add: 'x'"
rapahub logs calc >"$work/out" 2>"$work/err" || fail 'rapahub logs calc'
grep -q 'SIGKILL' "$work/out" || fail 'the log does not tell of the death'
expect 0 'calc: stopped' sh -c 'rapahub stop calc 2>&1'
wait "$host" || fail "rapahub run ended with $?"
expect 4 '' rapahub call calc.add 40 2

if [ -e "$prefix/$libdir/rapahub/codec.so" ]; then
    codec=$prefix/$libdir/rapahub/codec.so
    head -c 3000000 /dev/urandom >file
    expect 0 '' sh -c "rapahub call $codec:compress @file @file.zst 3 >count"
    [ "$(cat count)" = "$(stat -c %s file.zst)" ] || fail 'compress tells another size than it wrote'
    rapahub call "$codec":decompress @file.zst - 2>"$work/err" | cmp - file || fail 'not the same file'
    says 3000000
    expect 2 '' rapahub call "$codec":compress file -
    says 'a source is a file: @file'
fi

# The page "Keep it running", with the example's pools.
if [ -x "$prefix/bin/rapahubd" ]; then
    mkdir "$work/node"
    cd "$work/node"
    cp "$build/bin/counter.so" "$build/bin/pool.yaml" .
    rapahubd --data "$work/node/data" >"$work/host.log" 2>&1 &
    warden=$!
    logged 'serves'
    expect 0 'tally acked' sh -c "rapahub apply -f pool.yaml | awk '/^tally/ {print \$1, \$NF}'"
    expect 0 5 rapahub call 'tally#0.add' 5
    daemon=$(<"/proc/$warden/task/$warden/children")
    kill -9 "${daemon% }"
    expect 0 10 rapahub call 'tally#0.add' 5
    expect 4 '' rapahub call 'talli#0.add' 5
    says "did you mean 'tally'"
    rapahub delete tally >"$work/out" 2>"$work/err" || fail 'rapahub delete tally'
    kill "$warden"
    wait "$warden" || fail "rapahubd ended with $?"
    warden=
    [ -z "$(ls "$XDG_RUNTIME_DIR/rapahub")" ] || fail "left in $XDG_RUNTIME_DIR/rapahub: $(ls "$XDG_RUNTIME_DIR/rapahub")"
fi
echo 'a newcomer gets there'
