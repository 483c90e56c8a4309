/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of a segment's file and when they exist: seen in the number of its blocks. */
#include "tests/unit/shm/commit_rig.h"

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
        hub_reclaim_reset(rig->host, &rig->slots, 1);
        hub_reclaim_empty(rig->host, 1);
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

/* They attach to any entry that is Empty, without asking first. r[verify hub.file.room] */
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
            assert_int_equal(hub_commit_peer(&rig->host->mapping, &rig->host->geometry, peer), 0);
        assert_int_equal(there(rig), rig->at_first);
        end(rig);
    }
}

static uint32_t last_ref(const struct rig *rig, uint32_t c)
{
    return hub_slot_ref_pack(
        (struct hub_slot_ref){c, 0, rig->slots.allocator->map.of[c].per_extent - 1});
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
        assert_true(hub_slot_class_push(
            hub_slot_class_meta(&rig->slots.allocator->map, named.payload_slot),
            &rig->slots.allocator->map.of[c].header->free_head, named.payload_slot));
    }
    hub_slots_count(&rig->slots, &counts);
    assert_int_equal(counts.stray, 2);
    assert_int_equal(there(rig), before);
    hub_slots_in_fini(&in);
    end(rig);
}

/* r[verify hub.file.room] */
static void who_needs_more_slots_than_were_taken_gets_them(void **state)
{
    struct rig *rig = begin(&with_classes);

    (void)state;
    come(rig, 1);
    assert_int_equal(loan_all(rig), 20 - 20 / 2 / GUESTS);
    assert_int_equal(rig->slots.allocator->of[1].untaken, 0);
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
    rig->slots.allocator->of[1].no_room_before_ns = 0; /* the second is over */
    assert_true(hub_slots_ready(&rig->slots, 1, LARGE));
    assert_int_equal(loan_all(rig), 18 - 4);
    come(rig, 2);
    end(rig);
}

/* Almost all the space of the head and the records of all slots: the maker of the segment would
 * reach the end of the memory as it writes the first record after it. r[verify hub.file.room] */
static void without_room_for_the_records_of_its_slots_no_segment_is_made(void **state)
{
    struct hub_limits limits = with_classes;
    struct hub_geometry geometry;
    struct hub_segment *segment = NULL;
    uint64_t head, records;

    (void)state;
    limits.slot_count = 1 << 14;
    assert_int_equal(hub_geometry_compute(&limits, &geometry), 0);
    head = geometry.classes.base + hub_size_classes_head_size(&geometry.classes, GUESTS);
    records = hub_size_classes_data_offset(&geometry.classes.of[0]);
    assert_true(records > 32 * head &&
                records > hub_size_classes_data_offset(&geometry.classes.of[1]));
    if (!room_enter(16))
        skip(); /* no mounts here */
    for (uint64_t rest = head + 4 * 4096; rest < records; rest += records / 4) {
        room_fill(rest);
        assert_int_equal(hub_segment_create(&limits, true, &segment), -ENOSPC);
        assert_string_equal(rapahub_last_error()->rule, "hub.file.room");
        assert_null(segment);
        room_clear();
    }
    assert_int_equal(hub_segment_create(&limits, true, &segment), 0);
    hub_segment_release(&segment);
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
        cmocka_unit_test(without_room_for_the_records_of_its_slots_no_segment_is_made),
        cmocka_unit_test(without_room_a_sender_waits_and_a_guest_that_comes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
