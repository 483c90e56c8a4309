# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# arm64: the unit tests for arm64.
# shellcheck source=tests/run/suites.sh
. tests/run/suites.sh

readonly arm64_packages=(gcc-aarch64-linux-gnu libc6-dev:arm64 qemu-user libffi-dev:arm64 libcmocka-dev:arm64
    libjansson-dev:arm64 libzstd-dev:arm64 libfyaml-dev:arm64 libsqlite3-dev:arm64 libssl-dev:arm64)
# The emulator copies what a child must not have, takes no single steps, has no child that shares its
# parent's memory, no sleep on several futexes, finds any program and any closed descriptor there, and has
# words of its own for a signal; a program cannot start itself anew there (support/clock_page, client_restarts,
# imports), nor have the children of dead ones (children). A socket tells neither the groups of its peer (group) nor
# how much the kernel has dropped (datagrams), and memory is the emulator's own (limits). These take it ten seconds and more, and nothing in them depends on the
# processor: supervisor, server, group_abuse, tree, lifecycle, elf, identity_setup, detector, budget, seat_conformance,
# connection_abuse, tls, and weak, which is a model of weak memory itself.
readonly not_under_emulation=(base/mapping base/futex host-owner/forked host-owner/futexes host-process/nap
    host-process/spawn shm/fd_store shm/slot_growth support/clock_page support/leak support/process support/sweep
    host-control/group cluster-core/limits raw/raw guest-sdk/whole/guest guest-sdk/whole/last_words
    guest-sdk/response_batch host-supervise/supervisor host-control/server host-config/tree guest-sdk/whole/lifecycle
    host-cli/elf cluster-client/client_restarts cluster-daemon/children cluster-daemon/imports
    cluster-node/identity_setup cluster-node/detector cluster-node/datagrams host-control/group_abuse base/budget
    cluster-metastore/seat_conformance cluster-link/connection_abuse cluster-link/tls ordering/weak)

# A third of all the time that the emulator takes is spent here in OpenSSL, SQLite, sums over megabytes and thousands
# of faults of a disk, in which the processor makes no difference: they are for the long tests.
readonly long_under_emulation=(cluster-identity/certificate cluster-metastore/seat_links cluster-metastore/sqlite
    cluster-metastore/failing_disk cluster-metastore/random cluster-store/copy_file cluster-store/crash_log
    cluster-store/crash_copy cluster-store/failing_log cluster-node/peer_abuse cluster-node/peer_links
    cluster-node/peer_mesh cluster-node/clients_abuse cluster-link/connection cluster-link/tls_handshake)

# Debian has the libraries of other machines beside those of this one; others keep them elsewhere.
has_arm64_packages() {
    grep -qsx 'ID=debian' /etc/os-release && [ "$(dpkg --print-architecture)" = amd64 ] || return 1
    dpkg --print-foreign-architectures | grep -qx arm64 || as_root dpkg --add-architecture arm64
    (need "${arm64_packages[@]}")
}

# The unit tests for arm64: built by a cross compiler, run under an emulator.
arm64() {
    local except
    if ! has_arm64_packages; then
        say 'SKIPPED: arm64: no compiler and libraries for it'
        report arm64 <<<'unit 0 0 1'
        return 0
    fi
    built arm64 || return 0
    local left_out=("${not_under_emulation[@]}")
    [ -n "$long" ] || left_out+=("${long_under_emulation[@]}")
    except=$(IFS='|' && printf '%s' "${left_out[*]}")
    run_tests arm64 -j "$jobs" -L unit -E "^unit/($except)\$"
}
