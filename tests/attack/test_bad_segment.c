/* SPDX-License-Identifier: Apache-2.0 */
/* Invalid segment files, and tickets for the entry of another guest: our guest reports the fault,
 * by code and rule, and writes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/raw/raw_host.h"
#include "tests/raw/raw_words.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PROGRAM PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define MODULE  PROCESS_CHIMOD("echo")
#define ENTRY   128 /* offset of peer 1; entries have 64 bytes */
#define USAGE   64
#define FAILED  70

static const struct raw_config config = {.max_payload = 60,
                                         .initial_credit = 1024,
                                         .max_guests = 2,
                                         .ring_size = 4,
                                         .slot_size = 64,
                                         .slot_count = 3,
                                         .max_channels = 4,
                                         .file = true};

/* A changed word of the file; or its length. */
struct spoil {
    const char *what;
    uint64_t at;
    int size; /* 4 or 8 bytes; 0: the file is cut at `value` */
    uint64_t value;
    const char *code, *rule;
};

static const struct spoil spoils[] = {
    {"cut in its header", 0, 0, 100, "RAPAHUB_EFORMAT", "shm.file.attach"},
    {"cut in the middle", 0, 0, 1000, "RAPAHUB_EFORMAT", "shm.file.attach"},
    {"cut before its last byte", 0, 0, 2175, "RAPAHUB_EFORMAT", "shm.file.attach"},
    {"other magic", 0, 8, UINT64_C(0x0242554841504152), "RAPAHUB_EFORMAT", "shm.segment.magic"},
    {"other version", 8, 4, 2, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"longer header", 12, 4, 192, "RAPAHUB_EFORMAT", "shm.segment.header-size"},
    {"longer than its file", 16, 8, 2177, "RAPAHUB_EFORMAT", "shm.file.attach"},
    {"no more than a header", 16, 8, 128, "RAPAHUB_EFORMAT", "shm.file.attach"},
    {"as long as nothing is", 16, 8, UINT64_MAX, "RAPAHUB_EFORMAT", "shm.file.attach"},
    {"for no guests", 32, 4, 0, "RAPAHUB_EFORMAT", "shm.topology.max-guests"},
    {"for 256 guests", 32, 4, 256, "RAPAHUB_EFORMAT", "shm.topology.max-guests"},
    {"for more guests than it holds", 32, 4, 255, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"a ring of three", 36, 4, 3, "RAPAHUB_EFORMAT", "shm.ring.capacity"},
    {"a ring of 2^31", 36, 4, UINT32_C(1) << 31, "RAPAHUB_EFORMAT", "shm.ring.capacity"},
    {"a ring that fits no file", 36, 4, 65536, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"too much credit", 28, 4, UINT32_C(1) << 31, "RAPAHUB_EFORMAT", "shm.flow.wrap-rule"},
    {"no payload", 24, 4, 0, "RAPAHUB_EFORMAT", "shm.handshake.no-negotiation"},
    {"no channels", 64, 4, 0, "RAPAHUB_EFORMAT", "shm.handshake.no-negotiation"},
    {"a heart without rest", 72, 8, 1, "RAPAHUB_EFORMAT", "shm.handshake.no-negotiation"},
    {"a heart with little", 72, 8, 999999, "RAPAHUB_EFORMAT", "shm.handshake.no-negotiation"},
    {"slots of 6 bytes", 56, 4, 6, "RAPAHUB_EFORMAT", "shm.slot.generation"},
    {"slots of 4 GiB", 56, 4, UINT32_MAX - 3, "RAPAHUB_EFORMAT", "shm.slot.generation"},
    {"no slots", 60, 4, 0, "RAPAHUB_EFORMAT", "shm.slot.generation"},
    {"2^32 - 1 slots", 60, 4, UINT32_MAX, "RAPAHUB_EFORMAT", "shm.slot.generation"},
    {"a payload larger than a slot", 24, 4, 61, "RAPAHUB_EFORMAT", "shm.slot.generation"},
    {"a peer table outside", 40, 8, UINT64_C(1) << 32, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"a peer table that wraps", 40, 8, UINT64_MAX - 63, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"rings outside", ENTRY + 32, 8, UINT64_C(1) << 40, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"rings that wrap", ENTRY + 32, 8, UINT64_MAX - 63, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"rings over the header", ENTRY + 32, 8, 64, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"rings askew", ENTRY + 32, 8, 1028, "RAPAHUB_EFORMAT", "shm.ring.alignment"},
    {"slots of another", ENTRY + 40, 8, 768, "RAPAHUB_EFORMAT", "shm.segment.guest-slot-offset"},
    {"channels outside", ENTRY + 48, 8, 4096, "RAPAHUB_EFORMAT", "shm.segment.header"},
    {"a host that leaves", 68, 4, 1, "RAPAHUB_ECLOSED", "shm.goodbye.host"},
    {"messages of no guest", ENTRY + 8, 4, 1, "RAPAHUB_EFORMAT", "shm.ring.initialization"},
    {"more messages than room", ENTRY + 16, 4, 4, "RAPAHUB_EFORMAT", "shm.ring.initialization"},
};

static void apply(const struct raw_host *host, const struct spoil *spoil)
{
    if (spoil->size == 0)
        assert_int_equal(truncate(host->path, (off_t)spoil->value), 0);
    else if (spoil->size == 4)
        raw_store32(host->base, spoil->at, (uint32_t)spoil->value);
    else
        raw_store64(host->base, spoil->at, spoil->value);
}

static void assert_said(const char *what, const struct process_result *result, int status,
                        const char *code, const char *rule)
{
    char wanted[128];

    snprintf(wanted, sizeof wanted, "  rule %s\n", rule);
    if (result->status != status || strncmp(result->err, code, strlen(code)) != 0 ||
        !strstr(result->err, wanted))
        print_error("%s: status %d, %s", what, result->status, result->err);
    assert_int_equal(result->status, status);
    assert_memory_equal(result->err, code, strlen(code));
    assert_non_null(strstr(result->err, wanted));
    /* a single line */
    assert_ptr_equal(strchr(result->err, '\n'), result->err + result->err_size - 1);
}

static void run_guest(const char *const *arguments, struct process_result *out)
{
    const char *argv[8] = {PROGRAM};

    for (int i = 0; i < 6 && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    assert_int_equal(process_run_argv(argv, out), 0);
}

static void check_spoilt(const struct spoil *spoil)
{
    uint8_t before[4096], after[4096];
    struct process_result result;
    struct raw_host host;
    char path[160];
    size_t size;

    assert_int_equal(raw_host_create(&config, &host), 0);
    apply(&host, spoil);
    size = spoil->size == 0 ? spoil->value : host.size;
    assert_int_equal(pread(host.fd, before, sizeof before, 0), size);
    snprintf(path, sizeof path, "--hub-path=%s", host.path);
    run_guest((const char *const[]){path, MODULE, NULL}, &result);
    assert_said(spoil->what, &result, FAILED, spoil->code, spoil->rule);
    assert_int_equal(pread(host.fd, after, sizeof after, 0), size);
    assert_memory_equal(after, before, size);
    process_result_fini(&result);
    raw_host_destroy(&host);
}

/* r[verify hub.layout.validate] r[verify shm.file.attach] r[verify shm.segment.header]
 * r[verify shm.segment.magic] r[verify shm.segment.header-size] r[verify shm.topology.max-guests]
 * r[verify shm.ring.alignment] r[verify shm.segment.guest-slot-offset] */
static void a_segment_that_is_not_valid_is_refused_with_its_rule(void **state)
{
    struct leak *leak = leak_begin();

    (void)state;
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++)
        check_spoilt(&spoils[i]);
    leak_assert_none(leak);
}

/* ---- tickets ---- */

struct ticket {
    const char *peer;
    int status;
    const char *code, *rule;
};

/* r[verify shm.spawn.guest-init] r[verify shm.topology.peer-id] r[verify shm.spawn.args] */
static void a_ticket_for_another_entry_is_refused_with_its_rule(void **state)
{
    static const struct ticket tickets[] = {
        {"1", FAILED, "RAPAHUB_ESTALE", "shm.spawn.guest-init"}, /* Empty */
        {"2", FAILED, "RAPAHUB_ESTALE", "shm.spawn.guest-init"}, /* Attached */
        {"5", FAILED, "RAPAHUB_EFORMAT", "shm.topology.max-guests"},
        {"0", USAGE, "RAPAHUB_EFORMAT", "shm.spawn.args"},
        {"256", USAGE, "RAPAHUB_EFORMAT", "shm.spawn.args"},
        {"-1", USAGE, "RAPAHUB_EFORMAT", "shm.spawn.args"},
    };
    struct process_result result;
    struct raw_host host;
    char path[160], peer[32];

    (void)state;
    assert_int_equal(raw_host_create(&config, &host), 0);
    raw_store32(host.base, ENTRY + 64, 1);
    snprintf(path, sizeof path, "--hub-path=%s", host.path);
    for (size_t i = 0; i < sizeof tickets / sizeof *tickets; i++) {
        snprintf(peer, sizeof peer, "--peer-id=%s", tickets[i].peer);
        run_guest((const char *const[]){path, peer, "--doorbell-fd=0", NULL}, &result);
        assert_said(tickets[i].peer, &result, tickets[i].status, tickets[i].code, tickets[i].rule);
        process_result_fini(&result);
    }
    assert_int_equal(raw_load32(host.base, ENTRY), 0);
    assert_int_equal(raw_load32(host.base, ENTRY + 64), 1);
    raw_host_destroy(&host);
}

/* r[verify shm.guest.attach-failure] */
static void a_table_without_an_empty_entry_is_refused_with_its_rule(void **state)
{
    struct process_result result;
    struct raw_host host;
    char path[160];

    (void)state;
    assert_int_equal(raw_host_create(&config, &host), 0);
    for (uint32_t peer = 0; peer < config.max_guests; peer++)
        raw_store32(host.base, ENTRY + 64 * peer, 1 + peer); /* Attached, Goodbye */
    snprintf(path, sizeof path, "--hub-path=%s", host.path);
    run_guest((const char *const[]){path, MODULE, NULL}, &result);
    assert_said("full", &result, FAILED, "RAPAHUB_EFULL", "shm.guest.attach-failure");
    process_result_fini(&result);
    raw_host_destroy(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_that_is_not_valid_is_refused_with_its_rule),
        cmocka_unit_test(a_ticket_for_another_entry_is_refused_with_its_rule),
        cmocka_unit_test(a_table_without_an_empty_entry_is_refused_with_its_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
