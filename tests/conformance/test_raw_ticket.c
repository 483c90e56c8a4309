/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest program, given tickets and segments that are wrong in one thing each: it refuses, and
 * has written nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_words.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define GUEST   PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define USAGE   64
#define REFUSED 70
#define HEADER  128 /* bytes; then the entries, of 64 */

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define STRIDE 5 /* a start takes long */
#else
#define STRIDE 1
#endif

/* ---- tickets ---- */

static void check_usage(const char *const argv[])
{
    struct process_result result;

    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_int_equal(result.status, USAGE);
    assert_true(result.err_size > 0);
    process_result_fini(&result);
}

/* r[verify shm.spawn.args] */
static void a_ticket_that_is_missing_or_malformed_is_refused(void **state)
{
    static const char path[] = "--hub-path=/dev/shm/none", peer[] = "--peer-id=1",
                      bell[] = "--doorbell-fd=0";

    (void)state;
    check_usage((const char *const[]){GUEST, NULL});
    check_usage((const char *const[]){GUEST, peer, bell, NULL});
    check_usage((const char *const[]){GUEST, path, bell, NULL});
    check_usage((const char *const[]){GUEST, path, peer, NULL});
    check_usage((const char *const[]){GUEST, "--hub-path=", peer, bell, NULL});
    check_usage((const char *const[]){GUEST, path, "--peer-id=0", bell, NULL});
    check_usage((const char *const[]){GUEST, path, "--peer-id=256", bell, NULL});
    check_usage((const char *const[]){GUEST, path, "--peer-id=1x", bell, NULL});
    check_usage((const char *const[]){GUEST, path, peer, "--doorbell-fd=-1", NULL});
    check_usage((const char *const[]){GUEST, path, peer, bell, "--peer-id=300", NULL});
    check_usage((const char *const[]){GUEST, path, peer, bell, "--module-fd=", NULL});
}

static void a_segment_that_is_not_there_is_refused(void **state)
{
    struct process_result result;

    (void)state;
    assert_int_equal(
        process_run_argv((const char *const[]){GUEST, "--doorbell-fd=0", "--peer-id=1",
                                               "--hub-path=/dev/shm/rapahub-none", NULL},
                         &result),
        0);
    assert_int_equal(result.status, REFUSED);
    process_result_fini(&result);
}

/* ---- segments ---- */

typedef void spoil(struct raw_hosting *on);

/* A guest that is told where an entry is that it must not use, or of a segment that is spoilt. */
static void check_refused(const struct raw_config *config, spoil *spoil_it)
{
    struct raw_hosting on;
    uint8_t *before;
    int guest_bell;

    raw_hosting_prepare(&on, config, RAW_BELL_STREAM, &guest_bell);
    spoil_it(&on);
    before = malloc(on.host.size);
    assert_non_null(before);
    memcpy(before, on.host.base, on.host.size);
    raw_hosting_spawn(&on, guest_bell);
    assert_int_equal(raw_hosting_ends_within(on.program.pid, CALL_MS), 0);
    assert_memory_equal(before, on.host.base, on.host.size);
    free(before);
    raw_hosting_reap(&on, REFUSED);
}

static void empty_entry(struct raw_hosting *on)
{
    raw_store32(on->host.base, on->link.entry, 0);
}

static void goodbye_entry(struct raw_hosting *on)
{
    raw_store32(on->host.base, on->link.entry, 2);
}

static void attached_entry(struct raw_hosting *on)
{
    raw_store32(on->host.base, on->link.entry, 1);
}

static void leaving_host(struct raw_hosting *on)
{
    raw_store32(on->host.base, 68, 1);
}

static void peer_beyond_the_end(struct raw_hosting *on)
{
    on->link.peer = 5;
}

static void full_ring(struct raw_hosting *on)
{
    raw_store32(on->host.base, on->link.entry + 16, 256);
}

static void unread_messages_of_no_guest(struct raw_hosting *on)
{
    raw_store32(on->host.base, on->link.entry + 8, 1);
}

/* r[verify shm.spawn.guest-init] r[verify hub.layout.validate] */
static void an_entry_that_is_not_its_own_is_refused(void **state)
{
    static spoil *const ways[] = {empty_entry,
                                  goodbye_entry,
                                  attached_entry,
                                  leaving_host,
                                  peer_beyond_the_end,
                                  full_ring,
                                  unread_messages_of_no_guest};
    const struct raw_config config = RAW_HOST_USUAL;

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        check_refused(&config, ways[i]);
}

static void other_magic(struct raw_hosting *on)
{
    on->host.base[7] = 2;
}

static void other_version(struct raw_hosting *on)
{
    raw_store32(on->host.base, 8, 2);
}

static void longer_header(struct raw_hosting *on)
{
    raw_store32(on->host.base, 12, 192);
}

static void larger_than_the_file(struct raw_hosting *on)
{
    raw_store64(on->host.base, 16, on->host.size + 1);
}

static void odd_ring(struct raw_hosting *on)
{
    raw_store32(on->host.base, 36, 255);
}

static void huge_credit(struct raw_hosting *on)
{
    raw_store32(on->host.base, 28, 0x80000000);
}

static void payload_beyond_a_slot(struct raw_hosting *on)
{
    raw_store32(on->host.base, 24, 65533);
}

static void odd_slots(struct raw_hosting *on)
{
    raw_store32(on->host.base, 56, 66);
}

static void ring_in_the_pool(struct raw_hosting *on)
{
    raw_store64(on->host.base, on->link.entry + 32, 256);
}

static void ring_beyond_the_end(struct raw_hosting *on)
{
    raw_store64(on->host.base, on->link.entry + 32, UINT64_MAX - 63);
}

/* r[verify shm.segment.magic] r[verify shm.segment.header] r[verify shm.segment.header-size]
 * r[verify shm.ring.alignment] */
static void a_header_that_cannot_be_is_refused(void **state)
{
    static spoil *const ways[] = {other_magic,           other_version, longer_header,
                                  larger_than_the_file,  odd_ring,      huge_credit,
                                  payload_beyond_a_slot, odd_slots,     ring_in_the_pool,
                                  ring_beyond_the_end};
    const struct raw_config config = RAW_HOST_USUAL;

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        check_refused(&config, ways[i]);
}

/* Returns the end of a guest with a segment in which one byte differs, of a host that is gone. */
static int end_with_byte(const struct raw_config *config, uint32_t at, uint8_t change)
{
    struct raw_hosting on;
    int guest_bell, status;

    raw_hosting_prepare(&on, config, RAW_BELL_STREAM, &guest_bell);
    on.host.base[at] ^= change;
    raw_hosting_spawn(&on, guest_bell);
    close(on.link.bell);
    on.link.bell = -1;
    status = raw_host_reap(&on.program, CALL_MS);
    raw_hosting_release(&on);
    return status;
}

/* So many guests say why they do not start. */
static int silence(void)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = fcntl(2, F_DUPFD_CLOEXEC, 3);

    dup2(nothing, 2);
    close(nothing);
    return kept;
}

static void unsilence(int kept)
{
    dup2(kept, 2);
    close(kept);
}

/* Whatever the byte says: the guest refuses, finds its host dead or broken, or is done; no signal
 * ends it, and it does not wait for ever. r[verify hub.layout.validate] */
static void no_byte_of_header_and_entry_harms_a_guest(void **state)
{
    const struct raw_config config = RAW_HOST_GOLDEN;
    int kept = silence();
    char bad[4096] = "";

    (void)state;
    for (uint32_t i = 0; i < 2 * (HEADER + 64); i += STRIDE) {
        int status = end_with_byte(&config, i / 2, i % 2 ? 0x80 : 0x01);

        if (status != 0 && status != REFUSED && status != 75 && status != 76)
            snprintf(bad + strlen(bad), sizeof(bad) - strlen(bad), "byte %u: %d; ", i / 2, status);
    }
    unsilence(kept);
    assert_string_equal(bad, "");
}

/* Without size classes the rest of the header is ignored. r[verify hub.layout.reserved] */
static void what_is_reserved_in_the_header_is_not_looked_at(void **state)
{
    const struct raw_config config = RAW_HOST_USUAL;
    struct raw_hosting on;
    int guest_bell;

    (void)state;
    raw_hosting_prepare(&on, &config, RAW_BELL_STREAM, &guest_bell);
    memset(on.host.base + 88, 0xff, 40);
    raw_hosting_spawn(&on, guest_bell);
    assert_int_equal(raw_host_await(&on.link, CALL_MS), 0);
    raw_hosting_close(&on, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_that_is_missing_or_malformed_is_refused),
        cmocka_unit_test(a_segment_that_is_not_there_is_refused),
        cmocka_unit_test(an_entry_that_is_not_its_own_is_refused),
        cmocka_unit_test(a_header_that_cannot_be_is_refused),
        cmocka_unit_test(no_byte_of_header_and_entry_harms_a_guest),
        cmocka_unit_test(what_is_reserved_in_the_header_is_not_looked_at),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
