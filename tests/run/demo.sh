# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# demo: builds what an installation has, and runs the main job.
# shellcheck source=tests/run/compile.sh
. tests/run/compile.sh

demo() {
    need "${build_packages[@]}"
    say "building build/demo"
    if ! logged build/demo/configure.log cmake --preset release -B build/demo \
        -DBUILD_TESTING=OFF -DRAPAHUB_WERROR=OFF -DWITH_ZSTD=ON ||
        ! logged build/demo/build.log cmake --build build/demo -j "$jobs"; then
        die "it does not build here"
    fi
    say "storing files through two plugins, killing these, reading everything back"
    build/demo/bin/archive "$@" || die "the main job failed" "build/demo/bin/archive --verbose"
    cat <<'EOF'

Try next:
  export PATH=$PWD/build/demo/bin:$PATH
  rapahub call build/demo/lib/rapahub/echo.so:i64 42
  rapahub inspect build/demo/lib/rapahub/codec.so
  rapahub run build/demo/lib/rapahub/echo.so        # then, in another terminal: rapahub call echo.string hello
  (cd build/demo/bin && ./counter_host)             # examples/counter_host.c, 30 lines
  archive --kills 50 --threads 8                    # the main job, harder
EOF
}
