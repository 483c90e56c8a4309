# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# bench: measures each row of docs/performance.md.
# shellcheck source=tests/run/compile.sh
. tests/run/compile.sh

readonly peer_packages=(g++ libzmq3-dev libnng-dev libsystemd-dev libopenmpi-dev openmpi-bin libcapnp-dev
    capnproto iceoryx libiceoryx-posh-dev libiceoryx-hoofs-dev libgrpc++-dev libprotobuf-dev
    protobuf-compiler-grpc)

# bench [--gates|--peers|--pictures] [option of rapahub-bench...]
bench() {
    local what=all peers=OFF
    case ${1-} in
    --gates) what=gates; shift ;;
    --peers) peers=ON ;; # an option of the program too
    --pictures)
        peers=ON
        shift
        set -- --peers --svg docs/performance-rows.svg --sizes docs/performance-sizes.svg "$@"
        ;;
    esac
    need "${build_packages[@]}" "${test_packages[@]}"
    [ "$peers" = OFF ] || need "${peer_packages[@]}"
    build release -DRAPAHUB_BUILD_PEERS="$peers"
    build/release/bench/rapahub-bench "$@" "$what"
}
