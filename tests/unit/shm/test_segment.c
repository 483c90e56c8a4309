/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/ring.h"
#include "hub/shm/segment.h"
#include "hub/shm/slot_pool.h"
#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

#define GOLDEN_SIZE 2176
#define ENTRY       128 /* offset of peer 1 */

/* Like the golden segment, except for its interval of 1 ms: a host may ask for 10 ms at least. */
static const struct hub_limits golden_limits = {60, 1024, 2, 4, 64, 3, 4, HUB_SECOND / 100, 0, 0};

/* The whole golden segment, with that interval. */
static void golden_bytes(const char *name, uint8_t bytes[GOLDEN_SIZE])
{
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, name);

    assert_int_equal(golden->size, GOLDEN_SIZE);
    memcpy(bytes, golden->bytes, GOLDEN_SIZE);
    memcpy(bytes + 72, &golden_limits.heartbeat_ns, 8);
    vectors_close(vectors);
}

/* The golden segment with peer 1 Reserved, as a guest with a ticket finds it. */
static void reserved_bytes(uint8_t bytes[GOLDEN_SIZE])
{
    golden_bytes("segment-golden", bytes);
    bytes[ENTRY] = HUB_PEER_RESERVED;
    bytes[ENTRY + 4] = 1;
}

static int file_of(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("segment", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
    return fd;
}

/* With a deadline that has passed: only what is there at once counts. */
static int attach_now(int fd, uint32_t peer, struct hub_segment **segment,
                      struct hub_segment_view *view)
{
    char path[64];
    const struct hub_segment_ticket ticket = {.path = path, .peer = peer};

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return hub_segment_attach_until(&ticket, 1, segment, view);
}

static void assert_unchanged(int fd, const uint8_t *bytes, size_t size)
{
    uint8_t found[GOLDEN_SIZE + 1];

    assert_int_equal(pread(fd, found, size + 1, 0), size);
    assert_memory_equal(found, bytes, size);
}

static void assert_refused(int r, int code, const char *rule)
{
    assert_int_equal(r, code);
    assert_int_equal(rapahub_last_error()->code, code);
    assert_string_equal(rapahub_last_error()->rule, rule);
    assert_string_not_equal(rapahub_last_error()->text, "");
}

/* r[verify shm.ring.initialization] r[verify shm.topology.hub] */
static void a_new_shared_segment_has_the_golden_bytes(void **state)
{
    struct leak *leak = leak_begin();
    struct hub_segment *segment = NULL;
    uint8_t bytes[GOLDEN_SIZE];

    (void)state;
    golden_bytes("segment-golden", bytes);
    assert_int_equal(hub_segment_create(&golden_limits, true, &segment), 0);
    assert_int_equal(segment->mapping.size, GOLDEN_SIZE);
    assert_memory_equal(segment->mapping.data, bytes, GOLDEN_SIZE);
    hub_segment_release(&segment);
    assert_null(segment);
    hub_segment_release(&segment);
    leak_assert_none(leak);
}

static void a_new_private_segment_has_the_golden_bytes_and_is_sealed(void **state)
{
    struct leak *leak = leak_begin();
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, "segment-golden-private");
    struct hub_limits limits = golden_limits;
    struct hub_segment *segment = NULL;

    (void)state;
    limits.guests_max = 1;
    limits.heartbeat_ns = 0;
    assert_int_equal(hub_segment_create(&limits, false, &segment), 0);
    assert_int_equal(segment->mapping.size, golden->size);
    assert_memory_equal(segment->mapping.data, golden->bytes, golden->size);
    assert_int_equal(ftruncate(segment->mapping.fd, 0), -1);
    hub_segment_release(&segment);
    vectors_close(vectors);
    leak_assert_none(leak);
}

static void a_private_segment_has_one_guest(void **state)
{
    struct hub_segment *segment = NULL;

    (void)state;
    assert_refused(hub_segment_create(&golden_limits, false, &segment), RAPAHUB_EINVAL,
                   "shm.topology.max-guests");
    assert_null(segment);
}

static void send_as_guest(const struct hub_segment *segment, const struct hub_segment_view *view)
{
    struct hub_descriptor tiny = {
        .msg_type = HUB_DATA, .id = 7, .payload_slot = HUB_INLINE, .payload_len = 4};
    struct hub_descriptor large = {.msg_type = HUB_DATA, .id = 9, .payload_len = 40};
    struct hub_ring_producer ring;
    struct hub_slot_pool pool;

    hub_ring_producer_init(&ring, view->guest_to_host, 4, &view->entry->guest_to_host_head,
                           &view->entry->guest_to_host_tail);
    assert_int_equal(hub_slot_pool_init(&pool, &segment->geometry, view->guest_pool, true), 0);
    memcpy(tiny.inline_payload, "tiny", 4);
    hub_ring_put(&ring, &tiny);
    assert_int_equal(hub_slot_pool_loan(&pool, 0, &large.payload_slot, &large.payload_generation),
                     0);
    memset(hub_slot_pool_payload(&pool, large.payload_slot), 0xab, 40);
    hub_slot_pool_sent(&pool, large.payload_slot);
    hub_ring_put(&ring, &large);
    assert_true(hub_ring_publish(&ring));
    hub_slot_pool_return_cache(&pool);
    hub_slot_pool_fini(&pool);
}

/* r[verify shm.desc.size] r[verify shm.slot.allocate] r[verify shm.ring.layout] */
static void two_messages_of_a_guest_leave_the_golden_bytes(void **state)
{
    struct hub_segment *host = NULL, *guest = NULL;
    struct hub_segment_view view;
    uint8_t bytes[GOLDEN_SIZE];
    uint32_t peer = 0, epoch = 0;

    (void)state;
    golden_bytes("segment-golden-after-two-sends", bytes);
    assert_int_equal(hub_segment_create(&golden_limits, true, &host), 0);
    assert_int_equal(hub_peer_table_reserve(host, &peer, &epoch), 0);
    assert_int_equal(hub_segment_attach(host->mapping.path, peer, &guest, &view), 0);
    assert_int_equal(hub_peer_table_attach(view.entry, &epoch), 0);
    send_as_guest(guest, &view);
    memset(&view.entry->guest_wait, 0, 8);
    assert_memory_equal(host->mapping.data, bytes, GOLDEN_SIZE);
    hub_segment_release(&guest);
    hub_segment_release(&host);
}

/* r[verify shm.file.attach] r[verify shm.topology.peer-id] r[verify shm.segment.guest-rings]
 * r[verify shm.segment.host-slots] r[verify shm.segment.guest-slot-offset] */
static void a_guest_finds_the_places_its_host_made(void **state)
{
    struct hub_segment *host = NULL, *guest = NULL;
    struct hub_segment_view made, found;

    (void)state;
    assert_int_equal(hub_segment_create(&golden_limits, true, &host), 0);
    for (uint32_t peer = 1; peer <= 2; peer++) {
        const uint8_t *a = host->mapping.data, *b;

        hub_segment_view(host, peer, &made);
        hub_publish(&made.entry->state, HUB_PEER_RESERVED);
        assert_int_equal(hub_segment_attach(host->mapping.path, peer, &guest, &found), 0);
        b = guest->mapping.data;
        assert_int_equal((uint8_t *)found.header - b, (uint8_t *)made.header - a);
        assert_int_equal((uint8_t *)found.entry - b, (uint8_t *)made.entry - a);
        assert_int_equal((uint8_t *)found.guest_to_host - b, (uint8_t *)made.guest_to_host - a);
        assert_int_equal((uint8_t *)found.host_to_guest - b, (uint8_t *)made.host_to_guest - a);
        assert_int_equal((uint8_t *)found.channels - b, (uint8_t *)made.channels - a);
        assert_int_equal(found.host_pool - b, made.host_pool - a);
        assert_int_equal(found.guest_pool - b, made.guest_pool - a);
        hub_segment_release(&guest);
    }
    hub_segment_release(&host);
}

/* A changed number of the segment. */
struct change {
    uint32_t at, size;
    uint64_t value;
    int code;
    const char *rule;
};

static const struct change changes[] = {
    {0, 8, 0, RAPAHUB_ETIMEDOUT, "shm.segment.magic"},
    {0, 8, HUB_MAGIC + 1, RAPAHUB_EFORMAT, "shm.segment.magic"},
    {7, 1, 2, RAPAHUB_EFORMAT, "shm.segment.magic"},
    {8, 4, 0, RAPAHUB_EFORMAT, "shm.segment.header"},
    {8, 4, 2, RAPAHUB_EFORMAT, "shm.segment.header"},
    {12, 4, 64, RAPAHUB_EFORMAT, "shm.segment.header-size"},
    {12, 4, 256, RAPAHUB_EFORMAT, "shm.segment.header-size"},
    {16, 8, 0, RAPAHUB_EFORMAT, "shm.file.attach"},
    {16, 8, 128, RAPAHUB_EFORMAT, "shm.file.attach"},
    {16, 8, GOLDEN_SIZE + 1, RAPAHUB_EFORMAT, "shm.file.attach"},
    {16, 8, UINT64_MAX, RAPAHUB_EFORMAT, "shm.file.attach"},
    {16, 8, (UINT64_C(1) << 40) + 1, RAPAHUB_EFORMAT, "shm.file.attach"},
    {16, 8, GOLDEN_SIZE - 576 - 1, RAPAHUB_EFORMAT, "shm.segment.header"},
    {24, 4, 0, RAPAHUB_EFORMAT, "shm.handshake.no-negotiation"},
    {24, 4, 61, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {28, 4, 0x80000000, RAPAHUB_EFORMAT, "shm.flow.wrap-rule"},
    {32, 4, 0, RAPAHUB_EFORMAT, "shm.topology.max-guests"},
    {32, 4, 256, RAPAHUB_EFORMAT, "shm.topology.max-guests"},
    {36, 4, 0, RAPAHUB_EFORMAT, "shm.ring.capacity"},
    {36, 4, 1, RAPAHUB_EFORMAT, "shm.ring.capacity"},
    {36, 4, 3, RAPAHUB_EFORMAT, "shm.ring.capacity"},
    {36, 4, 131072, RAPAHUB_EFORMAT, "shm.ring.capacity"},
    {40, 8, 132, RAPAHUB_EFORMAT, "shm.segment.peer-table"},
    {40, 8, 64, RAPAHUB_EFORMAT, "shm.segment.guest-slot-offset"}, /* another entry's */
    {40, 8, GOLDEN_SIZE - 64, RAPAHUB_EFORMAT, "shm.segment.header"},
    {40, 8, UINT64_MAX - 63, RAPAHUB_EFORMAT, "shm.segment.header"},
    {48, 8, 260, RAPAHUB_EFORMAT, "shm.slot.pool-layout"},
    {48, 8, 320, RAPAHUB_EFORMAT, "shm.segment.guest-slot-offset"},
    {56, 4, 0, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {56, 4, 4, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {56, 4, 66, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {56, 4, (1u << 30) + 4, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {56, 4, 128, RAPAHUB_EFORMAT, "shm.segment.guest-slot-offset"},
    {60, 4, 0, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {60, 4, 65537, RAPAHUB_EFORMAT, "shm.slot.generation"},
    {64, 4, 0, RAPAHUB_EFORMAT, "shm.handshake.no-negotiation"},
    {64, 4, 65537, RAPAHUB_EFORMAT, "shm.handshake.no-negotiation"},
    {64, 4, 4096, RAPAHUB_EFORMAT, "shm.segment.header"},
    {68, 4, 1, RAPAHUB_ECLOSED, "shm.goodbye.host"},
    {80, 8, 192, RAPAHUB_EFORMAT, "shm.varslot.classes"},
    {ENTRY + 0, 4, HUB_PEER_EMPTY, RAPAHUB_ESTALE, "shm.spawn.guest-init"},
    {ENTRY + 0, 4, HUB_PEER_ATTACHED, RAPAHUB_ESTALE, "shm.spawn.guest-init"},
    {ENTRY + 0, 4, HUB_PEER_GOODBYE, RAPAHUB_ESTALE, "shm.spawn.guest-init"},
    {ENTRY + 0, 4, 77, RAPAHUB_ESTALE, "shm.spawn.guest-init"},
    {ENTRY + 8, 4, 1, RAPAHUB_EFORMAT, "shm.ring.initialization"},
    {ENTRY + 12, 4, 1, RAPAHUB_EFORMAT, "shm.ring.initialization"},
    {ENTRY + 16, 4, 4, RAPAHUB_EFORMAT, "shm.ring.initialization"},
    {ENTRY + 20, 4, 1, RAPAHUB_EFORMAT, "shm.ring.initialization"},
    {ENTRY + 32, 8, 1032, RAPAHUB_EFORMAT, "shm.ring.alignment"},
    {ENTRY + 32, 8, 128, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 32, 8, 256, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 32, 8, 512, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 32, 8, 1088, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 32, 8, GOLDEN_SIZE - 448, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 32, 8, UINT64_MAX - 63, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 40, 8, 516, RAPAHUB_EFORMAT, "shm.slot.pool-layout"},
    {ENTRY + 40, 8, 768, RAPAHUB_EFORMAT, "shm.segment.guest-slot-offset"},
    {ENTRY + 48, 8, 1538, RAPAHUB_EFORMAT, "shm.flow.channel-table"},
    {ENTRY + 48, 8, 0, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 48, 8, GOLDEN_SIZE - 56, RAPAHUB_EFORMAT, "shm.segment.header"},
    {ENTRY + 48, 8, UINT64_MAX - 7, RAPAHUB_EFORMAT, "shm.segment.header"},
};

/* r[verify hub.layout.validate] r[verify shm.handshake.no-negotiation] */
static void each_bad_number_is_refused_by_its_rule_and_nothing_is_written(void **state)
{
    struct leak *leak = leak_begin();

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct hub_segment *segment = NULL;
        struct hub_segment_view view;
        uint8_t bytes[GOLDEN_SIZE];
        int fd;

        reserved_bytes(bytes);
        memcpy(bytes + changes[i].at, &changes[i].value, changes[i].size);
        fd = file_of(bytes, GOLDEN_SIZE);
        assert_refused(attach_now(fd, 1, &segment, &view), changes[i].code, changes[i].rule);
        assert_null(segment);
        assert_unchanged(fd, bytes, GOLDEN_SIZE);
        close(fd);
    }
    leak_assert_none(leak);
}

static void a_peer_id_that_the_segment_does_not_have_is_refused(void **state)
{
    static const uint32_t ids[] = {0, 3, 5, 255, 256, 257, 0xFFFFFFFF};
    uint8_t bytes[GOLDEN_SIZE];
    int fd;

    (void)state;
    reserved_bytes(bytes);
    fd = file_of(bytes, GOLDEN_SIZE);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct hub_segment *segment = NULL;
        struct hub_segment_view view;

        assert_refused(attach_now(fd, ids[i], &segment, &view), RAPAHUB_EFORMAT,
                       "shm.topology.max-guests");
        assert_unchanged(fd, bytes, GOLDEN_SIZE);
    }
    close(fd);
}

/* r[verify hub.layout.reserved] */
static void reserved_bytes_of_the_header_are_ignored(void **state)
{
    struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    uint8_t bytes[GOLDEN_SIZE];
    int fd;

    (void)state;
    reserved_bytes(bytes);
    memset(bytes + 88, 0xff, 40);
    fd = file_of(bytes, GOLDEN_SIZE);
    assert_int_equal(attach_now(fd, 1, &segment, &view), 0);
    assert_int_equal(segment->geometry.limits.slot_count, 3);
    assert_unchanged(fd, bytes, GOLDEN_SIZE);
    hub_segment_release(&segment);
    close(fd);
}

static void assert_inside(const struct hub_segment *segment, const void *from, uint64_t size)
{
    uint64_t at = (uint64_t)((const uint8_t *)from - segment->mapping.data);

    assert_true(at <= segment->mapping.size && size <= segment->mapping.size - at);
}

/* Accepted parts are used: the pools are read, the rings examined. */
static void assert_works_inside(const struct hub_segment *segment,
                                const struct hub_segment_view *view)
{
    const struct hub_geometry *g = &segment->geometry;
    struct hub_slot_pool pool;
    struct hub_ring_consumer ring;
    struct hub_descriptor batch[HUB_RING_BATCH];

    assert_inside(segment, view->header, 128);
    assert_inside(segment, view->entry, 64);
    assert_inside(segment, view->guest_to_host, 64 * (uint64_t)g->limits.ring_size);
    assert_inside(segment, view->host_to_guest, 64 * (uint64_t)g->limits.ring_size);
    assert_inside(segment, view->channels, 16 * (uint64_t)g->limits.channels_max);
    assert_inside(segment, view->host_pool, g->pool_size);
    assert_inside(segment, view->guest_pool, g->pool_size);
    assert_int_equal(hub_slot_pool_init(&pool, g, view->guest_pool, true), 0);
    hub_slot_pool_fini(&pool);
    hub_ring_consumer_init(&ring, view->host_to_guest, g->limits.ring_size,
                           &view->entry->host_to_guest_head, &view->entry->host_to_guest_tail);
    (void)hub_ring_pop(&ring, batch, HUB_RING_BATCH);
}

/* Attaches if it may; true if it did. */
static bool attach_and_use(int fd)
{
    struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    int r = attach_now(fd, 1, &segment, &view);

    if (r < 0) {
        assert_string_not_equal(rapahub_last_error()->rule, "");
        return false;
    }
    assert_works_inside(segment, &view);
    hub_segment_release(&segment);
    return true;
}

static unsigned mutate(int fd, const uint8_t *bytes, uint32_t at)
{
    unsigned attached = 0;

    for (unsigned i = 0; i < 10; i++) {
        uint8_t byte = (uint8_t)(i < 8 ? bytes[at] ^ 1 << i : i == 8 ? 0 : 0xFF);

        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        attached += attach_and_use(fd);
    }
    assert_int_equal(pwrite(fd, &bytes[at], 1, at), 1);
    return attached;
}

static void any_changed_byte_is_refused_or_harmless(void **state)
{
    struct leak *leak = leak_begin();
    uint8_t bytes[GOLDEN_SIZE];
    unsigned attached = 0;
    int fd;

    (void)state;
    reserved_bytes(bytes);
    fd = file_of(bytes, GOLDEN_SIZE);
    for (uint32_t at = 0; at < ENTRY + 64; at++)
        attached += mutate(fd, bytes, at);
    assert_true(attached > 300 && attached < 1500);
    assert_unchanged(fd, bytes, GOLDEN_SIZE);
    assert_true(attach_and_use(fd));
    close(fd);
    leak_assert_none(leak);
}

static void a_file_cut_at_any_length_is_refused(void **state)
{
    uint8_t bytes[GOLDEN_SIZE];
    int fd;

    (void)state;
    reserved_bytes(bytes);
    fd = file_of(bytes, GOLDEN_SIZE);
    for (size_t size = GOLDEN_SIZE; size-- > 0;) {
        struct hub_segment *segment = NULL;
        struct hub_segment_view view;

        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        assert_refused(attach_now(fd, 1, &segment, &view), RAPAHUB_EFORMAT, "shm.file.attach");
        assert_unchanged(fd, bytes, size);
    }
    close(fd);
}

static void what_is_not_there_is_refused_at_once(void **state)
{
    struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    uint64_t start = hub_clock_now();

    (void)state;
    assert_int_equal(hub_segment_attach("/dev/shm/rapahub-no-such", 1, &segment, &view),
                     RAPAHUB_ENOENT);
    assert_true(hub_clock_now() - start < HUB_SECOND);
}

/* A host that is not ready yet: its file grows, is filled, and has its magic last. */
static void *finish_segment(void *user)
{
    int fd = *(int *)user;
    uint8_t bytes[GOLDEN_SIZE];

    reserved_bytes(bytes);
    pause_ms(3);
    assert_int_equal(ftruncate(fd, GOLDEN_SIZE), 0);
    assert_int_equal(pwrite(fd, bytes + 8, GOLDEN_SIZE - 8, 8), GOLDEN_SIZE - 8);
    pause_ms(3);
    assert_int_equal(pwrite(fd, bytes, 8, 0), 8);
    return NULL;
}

/* r[verify shm.file.create] r[verify shm.segment.magic] */
static void a_guest_waits_for_a_host_that_is_not_ready(void **state)
{
    struct hub_segment *segment = NULL;
    struct hub_segment_view view;
    char path[64];
    pthread_t host;
    int fd = memfd_create("segment", MFD_CLOEXEC);

    (void)state;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(pthread_create(&host, NULL, finish_segment, &fd), 0);
    assert_int_equal(hub_segment_attach(path, 1, &segment, &view), 0);
    assert_int_equal(pthread_join(host, NULL), 0);
    hub_segment_release(&segment);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_shared_segment_has_the_golden_bytes),
        cmocka_unit_test(a_new_private_segment_has_the_golden_bytes_and_is_sealed),
        cmocka_unit_test(a_private_segment_has_one_guest),
        cmocka_unit_test(two_messages_of_a_guest_leave_the_golden_bytes),
        cmocka_unit_test(a_guest_finds_the_places_its_host_made),
        cmocka_unit_test(each_bad_number_is_refused_by_its_rule_and_nothing_is_written),
        cmocka_unit_test(a_peer_id_that_the_segment_does_not_have_is_refused),
        cmocka_unit_test(reserved_bytes_of_the_header_are_ignored),
        cmocka_unit_test(any_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(a_file_cut_at_any_length_is_refused),
        cmocka_unit_test(what_is_not_there_is_refused_at_once),
        cmocka_unit_test(a_guest_waits_for_a_host_that_is_not_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
