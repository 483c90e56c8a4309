# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# valgrind: the unit tests under valgrind.
# shellcheck source=tests/run/suites.sh
. tests/run/suites.sh

# It knows no pidfd (shm/wait, host-lives/anonymous; cluster-node: boot, folder_check, guest_records), and runs a child that shares its parent's memory in
# memory of its own (spawn). A program that sends a hundred megabytes takes it minutes (server); one crashes on
# purpose, and valgrind has its own words for that (last_words). Three lower the limit of descriptors,
# which valgrind keeps to itself (fd_store twice, received). All threads stand still where one closes
# what lingers for seconds (closer). Three sleep on several futexes at once, for which neither valgrind
# nor the emulator has a system call (futex, futexes, nap). One starts itself anew, which is valgrind then
# (clock_page). The last ones spend ten seconds and more each in OpenSSL or SQLite, go through thousands of
# faults, or write a million versions; AddressSanitizer sees them.
readonly not_under_valgrind=(test_unit_shm_wait test_unit_host-lives_anonymous test_unit_host-process_spawn
    test_unit_host-control_server test_unit_guest-sdk_whole_last_words test_unit_shm_fd_store
    test_unit_host-process_fd_store test_unit_base_received test_unit_base_closer test_unit_base_futex
    test_unit_host-owner_futexes test_unit_host-process_nap test_unit_support_clock_page test_unit_cluster-node_boot
    test_unit_cluster-node_folder_check test_unit_cluster-node_guest_records
    test_unit_cluster-node_identity_setup test_unit_cluster-node_detector test_unit_cluster-identity_certificate test_unit_cluster-link_tls
    test_unit_cluster-metastore_seat_rights test_unit_cluster-metastore_seat_conformance
    test_unit_cluster-metastore_failing_disk test_unit_cluster-store_crash_copy test_unit_host-call_route_cache
    test_unit_bus_state_threads
    test_unit_cluster-metastore_sqlite test_unit_cluster-metastore_seat_links test_unit_cluster-link_connection
    test_unit_cluster-node_peer_links test_unit_host-supervise_supervisor)

# These spend their time in OpenSSL or SQLite, or in sums over megabytes: ten seconds and more each, a third of all.
# AddressSanitizer sees them each time, valgrind in the long tests.
readonly long_under_valgrind=(test_unit_cluster-node_peer_abuse test_unit_cluster-node_peer_mesh
    test_unit_cluster-node_node_join test_unit_cluster-node_joiners test_unit_cluster-node_grants
    test_unit_cluster-node_renewals test_unit_cluster-node_node_identity test_unit_cluster-node_node_init
    test_unit_cluster-node_clients_abuse test_unit_cluster-link_connection_abuse
    test_unit_cluster-link_tls_handshake test_unit_cluster-link_tls_pinned test_unit_cluster-link_keyring
    test_unit_cluster-identity_ca test_unit_cluster-store_copy_file test_unit_cluster-store_crash_log
    test_unit_cluster-store_blobs test_unit_cluster-metastore_random test_unit_cluster-metastore_seat_server
    test_unit_cluster-metastore_conformance)

# One program under valgrind, which nobody attaches to and whose inlined calls no trace needs: both take it a tenth of
# a second at each start. Its log stays if it fails, and under another name if it was skipped.
one_under_valgrind() {
    local log result=0
    log=build/valgrind-$(basename "$1").log
    timeout 120 valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect \
        --errors-for-leak-kinds=definite,indirect --fair-sched=yes --vgdb=no --read-inline-info=no \
        "$1" >"$log" 2>&1 || result=$?
    case $result in
    0) rm "$log" ;;
    77) mv "$log" "${log%.log}.skipped" ;;
    esac
}
export -f one_under_valgrind

# A finding of valgrind has no excuse; but a cmocka test that fails leaves memory, which says nothing.
is_proof_of_valgrind() {
    if grep -q ' FAILED TEST(S)$' "$1"; then
        grep -qE '^==[0-9]+== (Invalid|Conditional jump|Use of uninit|Syscall param|Mismatched|Source and dest|Process term)' "$1"
    else
        grep -q '^==[0-9]*==' "$1"
    fi
}

# The log of a failed program.
passes_alone_under_valgrind() {
    local program name=${1#build/valgrind-}
    ! is_proof_of_valgrind "$1" || return 1
    program=$(tr '\0' '\n' <build/valgrind.list | grep "/${name%.log}\$")
    mv "$1" "$1.first"
    for _ in 1 2 3; do
        one_under_valgrind "$program"
        [ ! -e "$1" ] || return 1
    done
}

under_valgrind() {
    local program all=0 wrong=0 skipped=0 start=$SECONDS
    rm -f build/valgrind-*.log build/valgrind-*.skipped build/valgrind-*.first
    local left_out=("${not_under_valgrind[@]}")
    [ -n "$long" ] || left_out+=("${long_under_valgrind[@]}")
    while IFS= read -r program; do
        all=$((all + 1))
        case " ${left_out[*]} " in
        *" $(basename "$program") "*) skipped=$((skipped + 1)) ;;
        *) printf '%s\0' "$program" ;;
        esac
    done < <(find build/release/tests -name 'test_unit_*' -type f -perm -u+x | sort) >build/valgrind.list
    # shellcheck disable=SC2016
    xargs -0 -r -P "$jobs" -n 1 bash -c 'one_under_valgrind "$0"' <build/valgrind.list || true
    for program in build/valgrind-*.skipped; do
        [ ! -e "$program" ] || skipped=$((skipped + 1))
    done
    for program in build/valgrind-*.log; do
        [ -e "$program" ] || continue
        say "FAILED: $program"
        tail -n 40 "$program" >&2
        if passes_alone_under_valgrind "$program"; then
            note_unsteady "$program"
        else
            wrong=$((wrong + 1))
        fi
    done
    report valgrind <<<"unit $((all - skipped - wrong)) $wrong $skipped $((SECONDS - start))"
}
