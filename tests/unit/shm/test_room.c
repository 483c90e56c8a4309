/* SPDX-License-Identifier: Apache-2.0 */
/* What of a segment's file is there when: seen in the number of its blocks. */
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "hub/shm/room.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "tests/support/leak.h"
#include "tests/support/room.h"
#include "tests/support/testing.h"

#define GUESTS 4
#define LARGE  60000 /* bytes: of the larger class */
#define ROUND  8     /* pages that ranges of one guest may share with others */
#define FIRST  2     /* large slots of a guest that comes: 128 KiB */
#define SHARE  5     /* that it has when it has asked, of 40 */

/* With size classes of 4,096 and 65,536 bytes, 80 and 20 slots in all. */
static const struct hub_limits with_classes = {.payload_max = 65536,
                                               .credit_size = 1024,
                                               .guests_max = GUESTS,
                                               .ring_size = 256,
                                               .slot_size = 4096,
                                               .slot_count = 16,
                                               .channels_max = 64};

struct rig {
    struct leak *leak;
    struct hub_segment *host;
    struct hub_slots slots;
    uint64_t at_first; /* pages */
};

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t there(const struct rig *rig)
{
    struct stat file;

    assert_int_equal(fstat(rig->host->mapping.fd, &file), 0);
    return pages_of((uint64_t)file.st_blocks * 512);
}

static struct rig *begin(const struct hub_limits *limits)
{
    struct rig *rig = calloc(1, sizeof *rig);

    assert_non_null(rig);
    rig->leak = leak_begin();
    assert_int_equal(hub_segment_create(limits, true, &rig->host), 0);
    if (rig->host->mapping.whole)
        skip(); /* this file system takes all at once */
    assert_int_equal(hub_slots_init_host(&rig->slots, rig->host), 0);
    rig->at_first = there(rig);
    return rig;
}

static void end(struct rig *rig)
{
    hub_slots_fini(&rig->slots);
    hub_segment_release(&rig->host);
    leak_assert_none(rig->leak);
    free(rig);
}

static void come(struct rig *rig, uint32_t wanted)
{
    uint32_t peer, epoch;

    assert_int_equal(hub_peer_table_reserve(rig->host, &peer, &epoch), 0);
    assert_int_equal(peer, wanted);
    assert_int_equal(hub_slots_endow(&rig->slots, peer), 0);
}

static void assert_near(uint64_t found, uint64_t wanted)
{
    assert_in_range(found + ROUND, wanted, wanted + 2 * ROUND);
}

/* r[verify hub.file.room] */
static void rings_and_granted_slots_are_taken_when_a_guest_comes(void **state)
{
    struct rig *rig = begin(&with_classes);
    uint64_t total = pages_of(rig->host->geometry.total_size);
    uint64_t each = rig->host->geometry.guest_stride + UINT64_C(80) / 2 / GUESTS * 4096 +
                    UINT64_C(20) / 2 / GUESTS * 65536;

    (void)state;
    assert_near(rig->at_first, pages_of(UINT64_C(16) * 4096 + UINT64_C(4) * 65536));
    for (uint32_t peer = 1; peer <= GUESTS; peer++) {
        come(rig, peer);
        assert_near(there(rig), rig->at_first + peer * pages_of(each));
    }
    assert_true(there(rig) < total * 3 / 4);
    end(rig);
}

/* r[verify hub.file.room] */
static void what_a_guest_left_is_enough_for_the_next(void **state)
{
    struct rig *rig = begin(&with_classes);
    uint64_t before;

    (void)state;
    come(rig, 1);
    before = there(rig);
    for (unsigned i = 0; i < 10; i++) {
        hub_reclaim_peer(rig->host, &rig->slots, 1);
        come(rig, 1);
    }
    assert_int_equal(there(rig), before);
    end(rig);
}

/* r[verify hub.file.room] */
static void a_pool_of_one_size_is_taken_when_its_guest_comes(void **state)
{
    struct hub_limits limits = with_classes;
    struct rig *rig;
    uint64_t each;

    (void)state;
    limits.payload_max = 4092;
    limits.slot_count = 64;
    rig = begin(&limits);
    each = rig->host->geometry.guest_stride + rig->host->geometry.pool_size;
    /* The host's, and the bitmap of each other. */
    assert_near(rig->at_first, pages_of(rig->host->geometry.pool_size) + GUESTS);
    for (uint32_t peer = 1; peer <= GUESTS; peer++) {
        come(rig, peer);
        assert_near(there(rig), rig->at_first + peer * pages_of(each));
    }
    end(rig);
}

/* They take any entry that is Empty, and nobody is asked before. r[verify hub.file.room] */
static void where_strangers_may_come_each_entry_has_its_pages(void **state)
{
    struct hub_limits limits[] = {with_classes, with_classes};

    (void)state;
    limits[1].payload_max = 4092;
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig;

        limits[i].strangers = true;
        rig = begin(&limits[i]);
        for (uint32_t peer = 1; peer <= GUESTS; peer++)
            assert_int_equal(hub_room_take_peer(&rig->host->mapping, &rig->host->geometry, peer),
                             0);
        assert_int_equal(there(rig), rig->at_first);
        end(rig);
    }
}

static uint32_t last_ref(const struct rig *rig, uint32_t c)
{
    return hub_slot_ref_pack(
        (struct hub_slot_ref){c, 0, rig->slots.bank->map.of[c].per_extent - 1});
}

/* A guest names and pushes what no one has been given: the host looks at its records, and never at
 * the slot. r[verify hub.file.room] */
static void a_slot_without_pages_is_refused_unread(void **state)
{
    struct rig *rig = begin(&with_classes);
    struct hub_slots_in in;
    struct hub_slot_counts counts;
    uint64_t before;
    uint8_t got[LARGE];

    (void)state;
    come(rig, 1);
    before = there(rig);
    assert_int_equal(hub_slots_in_init(&in, &rig->slots, &rig->host->geometry, NULL, 1), 0);
    for (uint32_t c = 0; c < 2; c++) {
        const struct hub_descriptor named = {.payload_slot = last_ref(rig, c), .payload_len = 100};

        assert_int_equal(hub_slots_in_take(&in, &named, got), RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, "shm.varslot.ownership");
        assert_true(hub_slot_class_push(&rig->slots.bank->map,
                                        &rig->slots.bank->map.of[c].header->free_head,
                                        named.payload_slot));
    }
    hub_slots_count(&rig->slots, &counts);
    assert_int_equal(counts.stray, 2);
    assert_int_equal(there(rig), before);
    hub_slots_in_fini(&in);
    end(rig);
}

static uint32_t loan_all(struct rig *rig)
{
    struct hub_descriptor descriptor;
    uint32_t count = 0;
    uint8_t *at;
    int r;

    while ((at = hub_slots_loan(&rig->slots, 1, LARGE, &descriptor, &r)) != NULL) {
        memset(at, 1, LARGE);
        count++;
    }
    assert_int_equal(r, RAPAHUB_EAGAIN);
    return count;
}

/* r[verify hub.file.room] */
static void who_needs_more_slots_than_were_taken_gets_them(void **state)
{
    struct rig *rig = begin(&with_classes);

    (void)state;
    come(rig, 1);
    assert_int_equal(loan_all(rig), 20 - 20 / 2 / GUESTS);
    assert_int_equal(rig->slots.bank->of[1].untaken, 0);
    assert_true(there(rig) >= rig->at_first + 14 * pages_of(65536));
    end(rig);
}

/* r[verify hub.file.room] r[verify shm.slot.exhaustion] */
static void without_room_a_sender_waits_and_a_guest_that_comes_is_refused(void **state)
{
    struct hub_slot_counts before, after;
    struct rig *rig;
    uint32_t had;

    (void)state;
    if (!room_enter(4))
        skip(); /* no mounts here */
    rig = begin(&with_classes);
    come(rig, 1);
    room_fill(0);
    had = loan_all(rig);
    assert_int_equal(had, 4);
    assert_false(hub_slots_ready(&rig->slots, 1, LARGE));
    hub_slots_count(&rig->slots, &before);
    assert_int_equal(hub_peer_table_reserve(rig->host, &(uint32_t){0}, &(uint32_t){0}), -ENOSPC);
    assert_int_equal(hub_slots_endow(&rig->slots, 2), -ENOSPC);
    assert_string_equal(rapahub_last_error()->rule, "hub.file.room");
    hub_slots_count(&rig->slots, &after);
    assert_int_equal(after.granted, before.granted);
    room_clear();
    rig->slots.bank->of[1].no_room_before_ns = 0; /* the second is over */
    assert_true(hub_slots_ready(&rig->slots, 1, LARGE));
    assert_int_equal(loan_all(rig), 18 - 4);
    come(rig, 2);
    end(rig);
}

static struct hub_peer_class *large_of(struct rig *rig, uint32_t peer)
{
    return hub_slot_class_peer(&rig->slots.bank->map, peer, 1);
}

static uint32_t ask_for_large(struct rig *rig, uint32_t peer)
{
    hub_note(&large_of(rig, peer)->wanted, 1);
    return hub_slots_attend(&rig->slots, peer);
}

static struct rig *begin_with_more(void)
{
    struct hub_limits limits = with_classes;

    limits.slot_count = 32;
    return begin(&limits);
}

/* Then a quarter of the class, divided; what the host has for itself stays.
 * r[verify hub.file.room] r[verify hub.var.single-popper] */
static void who_asks_for_large_slots_gets_what_it_lacks_of_its_share(void **state)
{
    struct rig *rig = begin_with_more();
    uint64_t before;

    (void)state;
    assert_int_equal(hub_slot_class_share(&rig->slots.bank->map, 1, GUESTS), SHARE);
    come(rig, 1);
    before = there(rig);
    assert_int_equal(hub_peek(&large_of(rig, 1)->granted), FIRST);
    assert_int_equal(ask_for_large(rig, 1), SHARE - FIRST);
    assert_int_equal(hub_peek(&large_of(rig, 1)->granted), SHARE);
    assert_int_equal(there(rig), before + (SHARE - FIRST) * pages_of(65536));
    assert_int_equal(ask_for_large(rig, 1), 40 / 4 / GUESTS);
    assert_int_equal(rig->slots.bank->of[1].in_reserve, 8);
    end(rig);
}

/* r[verify hub.file.room] */
static void without_room_who_asks_gets_what_the_host_can_spare(void **state)
{
    struct rig *rig;

    (void)state;
    if (!room_enter(16))
        skip(); /* no mounts here */
    rig = begin_with_more();
    come(rig, 1);
    room_fill(0);
    assert_int_equal(ask_for_large(rig, 1), SHARE - FIRST);
    assert_int_equal(ask_for_large(rig, 1), 1);
    assert_int_equal(ask_for_large(rig, 1), 0);
    assert_int_equal(loan_all(rig), 8 / 2);
    room_clear();
    rig->slots.bank->of[1].no_room_before_ns = 0; /* the second is over */
    assert_int_equal(ask_for_large(rig, 1), 40 / 4 / GUESTS);
    end(rig);
}

static void assert_may_hold(struct hub_slots_in *in, uint32_t wanted)
{
    const uint32_t slot = UINT32_C(1) << 24;
    uint32_t had = hub_peek(&in->shown[1]), count = 0;

    while (hub_slots_in_may_hold(in, slot)) {
        hub_note(&in->shown[1], hub_peek(&in->shown[1]) + 1);
        count++;
    }
    hub_note(&in->shown[1], had);
    assert_int_equal(count, wanted);
}

/* Be it less than its share: what is held does not come back before it ends. r[verify
 * hub.slot.hold]
 */
static void the_host_holds_half_of_what_a_guest_has(void **state)
{
    struct rig *rig = begin_with_more();
    struct hub_slots_in in;

    (void)state;
    assert_int_equal(hub_slots_in_init(&in, &rig->slots, &rig->host->geometry, NULL, 1), 0);
    assert_may_hold(&in, 0);
    come(rig, 1);
    assert_may_hold(&in, FIRST / 2);
    assert_int_equal(ask_for_large(rig, 1), SHARE - FIRST);
    assert_may_hold(&in, SHARE / 2);
    assert_int_equal(ask_for_large(rig, 1), 40 / 4 / GUESTS);
    assert_may_hold(&in, SHARE / 2);
    hub_reclaim_peer(rig->host, &rig->slots, 1);
    assert_may_hold(&in, 0);
    hub_slots_in_fini(&in);
    end(rig);
}

/* One look takes a moment, and so does the one of a second thread, which meets the same goal.
 * r[verify hub.var.single-popper] */
static void who_asks_for_many_gets_some_at_each_look(void **state)
{
    struct hub_limits limits = with_classes;
    struct rig *rig;
    uint32_t share, looks = 0;

    (void)state;
    limits.slot_count = 128;
    rig = begin(&limits);
    share = hub_slot_class_share(&rig->slots.bank->map, 1, GUESTS);
    come(rig, 1);
    hub_note(&large_of(rig, 1)->wanted, 1);
    for (uint32_t has = FIRST; has < share; looks++) {
        uint32_t wanted = share - has < 4 ? share - has : 4;

        assert_int_equal(hub_peek(&large_of(rig, 1)->wanted), 1);
        assert_int_equal(hub_slots_attend(&rig->slots, 1), wanted);
        has += wanted;
    }
    assert_int_equal(hub_peek(&large_of(rig, 1)->wanted), 0);
    assert_int_equal(hub_peek(&large_of(rig, 1)->granted), share);
    assert_int_equal(looks, 5);
    assert_int_equal(hub_slots_attend(&rig->slots, 1), 0);
    end(rig);
}

static uint32_t ask_for_small(struct rig *rig, uint32_t peer)
{
    hub_note(&hub_slot_class_peer(&rig->slots.bank->map, peer, 0)->wanted, 1);
    return hub_slots_attend(&rig->slots, peer);
}

/* Two guests have what the host can spare, and nothing is left. */
static struct rig *begin_without_room(void)
{
    struct rig *rig = begin_with_more();

    come(rig, 1);
    come(rig, 2);
    room_fill(0);
    for (uint32_t peer = 1; peer <= 2; peer++)
        while (ask_for_large(rig, peer) > 0 || ask_for_small(rig, peer) > 0)
            continue;
    return rig;
}

/* r[verify hub.file.room] */
static void where_there_is_room_for_one_slot_one_is_granted(void **state)
{
    struct rig *rig;

    (void)state;
    if (!room_enter(16))
        skip(); /* no mounts here */
    rig = begin_without_room();
    room_clear();
    room_fill(65536 + 4096);
    rig->slots.bank->of[1].no_room_before_ns = 0; /* the second is over */
    assert_int_equal(ask_for_large(rig, 1), 1);
    assert_int_equal(ask_for_large(rig, 1), 0);
    end(rig);
}

/* r[verify hub.file.room] */
static void no_room_for_large_slots_is_room_for_small_ones(void **state)
{
    struct rig *rig;

    (void)state;
    if (!room_enter(16))
        skip(); /* no mounts here */
    rig = begin_without_room();
    room_clear();
    room_fill(40000);
    for (uint32_t c = 0; c < 2; c++)
        rig->slots.bank->of[c].no_room_before_ns = 0; /* the second is over */
    assert_int_equal(ask_for_large(rig, 1), 0);
    assert_true(ask_for_small(rig, 2) > 0);
    end(rig);
}

/* r[verify hub.file.room] */
static void a_host_that_has_one_slot_keeps_it(void **state)
{
    struct hub_limits limits = with_classes;
    struct rig *rig;

    (void)state;
    if (!room_enter(16))
        skip(); /* no mounts here */
    limits.slot_count = 1;
    rig = begin(&limits);
    assert_int_equal(rig->slots.bank->of[0].in_reserve, 1);
    come(rig, 1);
    room_fill(0);
    assert_int_equal(ask_for_small(rig, 1), 0);
    assert_int_equal(rig->slots.bank->of[0].in_reserve, 1);
    end(rig);
}

/* Two came when room was ample, and have not asked yet. r[verify hub.file.room] */
static void who_comes_later_does_not_take_what_others_were_promised(void **state)
{
    uint32_t peer, epoch;
    struct rig *rig;

    (void)state;
    if (!room_enter(16))
        skip(); /* no mounts here */
    rig = begin_with_more();
    come(rig, 1);
    come(rig, 2);
    assert_int_equal(hub_peer_table_reserve(rig->host, &peer, &epoch), 0);
    room_fill(SHARE * 65536 + 128 * 1024); /* enough for the third alone */
    assert_int_equal(hub_slots_endow(&rig->slots, 3), -ENOSPC);
    room_clear();
    room_fill((SHARE + 2 * (SHARE - FIRST)) * 65536 + 128 * 1024);
    assert_int_equal(hub_slots_endow(&rig->slots, 3), 0);
    assert_int_equal(hub_peek(&large_of(rig, 3)->granted), SHARE);
    room_clear();
    room_fill(0);
    for (peer = 1; peer <= 2; peer++)
        assert_int_equal(ask_for_large(rig, peer), SHARE - FIRST);
    end(rig);
}

/* Then what it is promised must be there before it comes. r[verify hub.file.room] */
static void in_a_small_room_a_guest_has_its_share_when_it_comes(void **state)
{
    struct rig *rig;

    (void)state;
    if (!room_enter(4))
        skip(); /* no mounts here */
    rig = begin_with_more();
    come(rig, 1);
    assert_int_equal(hub_peek(&large_of(rig, 1)->granted), SHARE);
    end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_and_granted_slots_are_taken_when_a_guest_comes),
        cmocka_unit_test(what_a_guest_left_is_enough_for_the_next),
        cmocka_unit_test(a_pool_of_one_size_is_taken_when_its_guest_comes),
        cmocka_unit_test(where_strangers_may_come_each_entry_has_its_pages),
        cmocka_unit_test(a_slot_without_pages_is_refused_unread),
        cmocka_unit_test(who_needs_more_slots_than_were_taken_gets_them),
        cmocka_unit_test(who_asks_for_large_slots_gets_what_it_lacks_of_its_share),
        cmocka_unit_test(who_asks_for_many_gets_some_at_each_look),
        cmocka_unit_test(the_host_holds_half_of_what_a_guest_has),
        cmocka_unit_test(without_room_a_sender_waits_and_a_guest_that_comes_is_refused),
        cmocka_unit_test(where_there_is_room_for_one_slot_one_is_granted),
        cmocka_unit_test(no_room_for_large_slots_is_room_for_small_ones),
        cmocka_unit_test(a_host_that_has_one_slot_keeps_it),
        cmocka_unit_test(who_comes_later_does_not_take_what_others_were_promised),
        cmocka_unit_test(in_a_small_room_a_guest_has_its_share_when_it_comes),
        cmocka_unit_test(without_room_who_asks_gets_what_the_host_can_spare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
