/* SPDX-License-Identifier: Apache-2.0 */
/* The grants to a guest that asks, with space and without. */
#include "tests/unit/shm/commit_rig.h"

static struct hub_peer_class *large_of(struct rig *rig, uint32_t peer)
{
    return hub_slot_class_peer(&rig->slots.allocator->map, peer, 1);
}

static uint32_t ask_for_large(struct rig *rig, uint32_t peer)
{
    hub_store_relaxed(&large_of(rig, peer)->wanted, 1);
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
    assert_int_equal(hub_slot_class_share(&rig->slots.allocator->map, 1, GUESTS), SHARE);
    come(rig, 1);
    before = there(rig);
    assert_int_equal(hub_load_relaxed(&large_of(rig, 1)->granted), FIRST);
    assert_int_equal(ask_for_large(rig, 1), SHARE - FIRST);
    assert_int_equal(hub_load_relaxed(&large_of(rig, 1)->granted), SHARE);
    assert_int_equal(there(rig), before + (SHARE - FIRST) * pages_of(65536));
    assert_int_equal(ask_for_large(rig, 1), 40 / 4 / GUESTS);
    assert_int_equal(rig->slots.allocator->of[1].in_reserve, 8);
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
    rig->slots.allocator->of[1].no_room_before_ns = 0; /* the second is over */
    assert_int_equal(ask_for_large(rig, 1), 40 / 4 / GUESTS);
    end(rig);
}

static void assert_may_hold(struct hub_slots_in *in, uint32_t wanted)
{
    const uint32_t slot = UINT32_C(1) << 24;
    uint32_t had = hub_load_relaxed(&in->shown[1]), count = 0;

    while (hub_slots_in_may_hold(in, slot)) {
        hub_store_relaxed(&in->shown[1], hub_load_relaxed(&in->shown[1]) + 1);
        count++;
    }
    hub_store_relaxed(&in->shown[1], had);
    assert_int_equal(count, wanted);
}

/* Even less than its share: held slots do not come back before it ends. r[verify hub.slot.hold] */
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
    hub_reclaim_reset(rig->host, &rig->slots, 1);
    hub_reclaim_empty(rig->host, 1);
    assert_may_hold(&in, 0);
    hub_slots_in_fini(&in);
    end(rig);
}

#define AT_ONCE 20 /* slots of 64 KiB: 1,280 KiB */

/* A single attend takes a moment, and so does that of a second thread, which has the same goal.
 * r[verify hub.var.single-popper] */
static void who_asks_for_many_gets_some_at_each_look(void **state)
{
    struct hub_limits limits = with_classes;
    struct rig *rig;
    uint32_t share, looks = 0;

    (void)state;
    limits.slot_count = 512;
    rig = begin(&limits);
    share = hub_slot_class_share(&rig->slots.allocator->map, 1, GUESTS);
    come(rig, 1);
    hub_store_relaxed(&large_of(rig, 1)->wanted, 1);
    for (uint32_t has = FIRST; has < share; looks++) {
        uint32_t wanted = share - has < AT_ONCE ? share - has : AT_ONCE;

        assert_int_equal(hub_load_relaxed(&large_of(rig, 1)->wanted), 1);
        assert_int_equal(hub_slots_attend(&rig->slots, 1), wanted);
        has += wanted;
    }
    assert_int_equal(hub_load_relaxed(&large_of(rig, 1)->wanted), 0);
    assert_int_equal(hub_load_relaxed(&large_of(rig, 1)->granted), share);
    assert_int_equal(looks, (share - FIRST + AT_ONCE - 1) / AT_ONCE);
    assert_true(looks > 2);
    assert_int_equal(hub_slots_attend(&rig->slots, 1), 0);
    end(rig);
}

static uint32_t ask_for_small(struct rig *rig, uint32_t peer)
{
    hub_store_relaxed(&hub_slot_class_peer(&rig->slots.allocator->map, peer, 0)->wanted, 1);
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
    rig->slots.allocator->of[1].no_room_before_ns = 0; /* the second is over */
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
        rig->slots.allocator->of[c].no_room_before_ns = 0; /* the second is over */
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
    assert_int_equal(rig->slots.allocator->of[0].in_reserve, 1);
    come(rig, 1);
    room_fill(0);
    assert_int_equal(ask_for_small(rig, 1), 0);
    assert_int_equal(rig->slots.allocator->of[0].in_reserve, 1);
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
    assert_int_equal(hub_load_relaxed(&large_of(rig, 3)->granted), SHARE);
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
    assert_int_equal(hub_load_relaxed(&large_of(rig, 1)->granted), SHARE);
    end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_for_large_slots_gets_what_it_lacks_of_its_share),
        cmocka_unit_test(who_asks_for_many_gets_some_at_each_look),
        cmocka_unit_test(the_host_holds_half_of_what_a_guest_has),
        cmocka_unit_test(without_room_who_asks_gets_what_the_host_can_spare),
        cmocka_unit_test(where_there_is_room_for_one_slot_one_is_granted),
        cmocka_unit_test(no_room_for_large_slots_is_room_for_small_ones),
        cmocka_unit_test(a_host_that_has_one_slot_keeps_it),
        cmocka_unit_test(who_comes_later_does_not_take_what_others_were_promised),
        cmocka_unit_test(in_a_small_room_a_guest_has_its_share_when_it_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
