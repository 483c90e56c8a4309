# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# demo: builds what an installation has, and runs the main job; with --node in the pools of a node.
# shellcheck source=tests/run/compile.sh
. tests/run/compile.sh

demo() {
    local job=archive
    if [ "${1-}" = --node ]; then
        job=archive_node
        shift
    fi
    need "${build_packages[@]}"
    say "building build/demo"
    if ! logged build/demo/configure.log cmake --preset release -B build/demo \
        -DBUILD_TESTING=OFF -DRAPAHUB_WERROR=OFF -DWITH_ZSTD=ON ||
        ! logged build/demo/build.log cmake --build build/demo -j "$jobs"; then
        die "it does not build here"
    fi
    say "storing files through two plugins, killing these, reading everything back"
    "build/demo/bin/$job" "$@" || die "the main job failed" "build/demo/bin/$job --verbose"
    cat <<'EOF'

Try next:
  export PATH=$PWD/build/demo/bin:$PATH
  rapahub call build/demo/lib/rapahub/echo.so:i64 42
  rapahub inspect build/demo/lib/rapahub/codec.so
  rapahub run build/demo/lib/rapahub/echo.so        # then, in another terminal: rapahub call echo.string hello
  (cd build/demo/bin && ./counter_host)             # examples/counter_host.c, 30 lines
  archive --kills 50 --threads 8                    # the main job, harder
  ./run demo --node                                 # the same in a daemon that is killed, too: docs/keep-it-running.md
EOF
}
