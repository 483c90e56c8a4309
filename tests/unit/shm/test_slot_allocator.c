/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shm/class_rig.h"

static uint32_t class_in(const struct hub_descriptor *descriptor)
{
    return descriptor->payload_slot >> 24;
}

/* Each size after each other one, at both sides of each limit. r[verify shm.varslot.selection] */
static void the_class_of_the_last_size_is_taken_only_where_it_fits(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1023, 1024, 1025, 4096, 4097, SIZE_MAX};
    const size_t count = sizeof sizes / sizeof *sizes;
    struct class_rig *rig = class_rig_begin(1, false);
    const struct hub_slot_map *map = &rig->allocator.map;

    (void)state;
    for (size_t i = 0; i < count * count; i++) {
        struct hub_slot_near near = {0};
        size_t first = sizes[i / count], second = sizes[i % count];

        assert_int_equal(hub_slot_class_select_near(map, first, &near),
                         hub_slot_class_select(map, first));
        assert_int_equal(hub_slot_class_select_near(map, second, &near),
                         hub_slot_class_select(map, second));
    }
    class_rig_end(rig);
}

static void assert_arrives(struct class_rig *rig, uint32_t peer,
                           const struct hub_descriptor *descriptor, uint8_t fill)
{
    uint8_t got[4096] = {0};

    assert_int_equal(hub_slot_allocator_accept(&rig->allocator, peer, descriptor, got), 0);
    for (size_t i = 0; i < descriptor->payload_len; i++)
        assert_int_equal(got[i], fill);
    assert_int_equal(hub_slot_grants_free(&rig->allocator, descriptor->payload_slot), 0);
}

/* r[verify shm.varslot.selection] */
static void the_smallest_class_that_fits_is_taken_and_a_larger_one_once_it_is_empty(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_descriptor d = {0};
    uint32_t count = 0;

    (void)state;
    d = host_sends(rig, 1, 64, 1);
    assert_int_equal(class_in(&d), 0);
    d = host_sends(rig, 1, 65, 1);
    assert_int_equal(class_in(&d), 1);
    d = host_sends(rig, 1, 4096, 1);
    assert_int_equal(class_in(&d), 2);
    d = host_sends(rig, 1, 1024, 1); /* all of the class below the last one */
    assert_int_equal(class_in(&d), 1);
    while (allocator_loan(&rig->allocator, 1, 10, &d) == 0) {
        assert_true(class_in(&d) == (count < 11 ? 0u : count < 13 ? 1u : 2u));
        allocator_sent(&rig->allocator, d.payload_slot);
        count++;
    }
    assert_int_equal(count, 11 + 2 + 3);
    assert_false(hub_slot_allocator_ready(&rig->allocator, 1, 10));
    class_rig_end(rig);
}

static void what_a_guest_gives_back_is_lent_again_with_another_generation(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_descriptor d[4], again = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        d[i] = host_sends(rig, 1, 4000, (uint8_t)i);
    assert_int_equal(allocator_loan(&rig->allocator, 1, 4000, &again), -EAGAIN);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(hub_slot_cache_accept(&rig->caches[0], &d[i], NULL), 0);
        assert_int_equal(hub_slot_cache_free(&rig->caches[0], d[i].payload_slot), 0);
    }
    assert_true(hub_slot_allocator_ready(&rig->allocator, 1, 4000));
    for (unsigned i = 0; i < 4; i++) {
        again = host_sends(rig, 1, 4000, 7);
        assert_int_equal(again.payload_generation, 2);
        assert_int_equal(hub_slot_cache_accept(&rig->caches[0], &again, NULL), 0);
    }
    class_rig_end(rig);
}

/* Were it accepted before, it could be deferred a second time, and the list of those would be a
 * circle. r[verify hub.slot.twice] */
static void what_waits_to_be_pushed_back_is_held_until_it_is(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_slot_allocator *allocator = &rig->allocator;
    struct hub_descriptor d = guest_sends(rig, 1, 4000, 5);
    uint32_t ref = d.payload_slot;
    struct hub_slot_meta *meta = hub_slot_class_meta(&allocator->map, ref);
    struct hub_a64 *head = &hub_slot_class_peer(&allocator->map, 1, ref >> 24)->free_head;

    (void)state;
    assert_int_equal(hub_slot_allocator_accept(allocator, 1, &d, NULL), 0);
    class_rig_spoils = true;
    assert_int_equal(hub_slot_grants_free(allocator, ref), 0);
    class_rig_spoils = false;
    assert_int_equal(allocator->deferred, ref);
    hub_store_relaxed(&meta->state, HUB_META_IN_FLIGHT); /* the guest sends it as if it had it */
    hub_store_relaxed(&meta->generation, ++d.payload_generation);
    assert_broken(hub_slot_allocator_accept(allocator, 1, &d, NULL), "hub.slot.twice");
    hub_store_relaxed(&hub_slot_class_peer(&allocator->map, 1, 0)->wanted, 1);
    (void)hub_slot_grants_attend(allocator, 1);
    assert_int_equal(allocator->deferred, HUB_SLOT_REF_NONE);
    assert_int_equal(hub_slot_ref_first(hub_load_relaxed64(head)), ref);
    class_rig_end(rig);
}

static uint32_t goes_and_comes_back(struct class_rig *rig, size_t size)
{
    struct hub_descriptor d = host_sends(rig, 1, size, 3);

    assert_int_equal(hub_slot_cache_accept(&rig->caches[0], &d, NULL), 0);
    assert_int_equal(hub_slot_cache_free(&rig->caches[0], d.payload_slot), 0);
    return d.payload_slot;
}

/* A small one is rather taken from the reserve, without a look at what the guest writes. */
static void check_warm(uint32_t size)
{
    struct class_rig *rig = class_rig_begin_for(1, false, size);
    uint32_t warm[HUB_SLOT_ROUND], small = goes_and_comes_back(rig, 60);

    for (unsigned i = 0; i < HUB_SLOT_ROUND; i++)
        warm[i] = goes_and_comes_back(rig, size);
    assert_int_not_equal(warm[0], warm[HUB_SLOT_ROUND - 1]);
    for (unsigned i = 0; i < 5 * HUB_SLOT_ROUND; i++)
        assert_int_equal(goes_and_comes_back(rig, size), warm[i % HUB_SLOT_ROUND]);
    assert_int_not_equal(goes_and_comes_back(rig, 60), small);
    class_rig_end(rig);
}

static void large_payloads_go_into_the_few_slots_that_are_warm(void **state)
{
    (void)state;
    check_warm(4096);
    check_warm(200000);
}

static void a_dropped_loan_is_in_the_reserve_again(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_descriptor d = {0};
    uint32_t free_before = allocator_free(&rig->allocator);

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(allocator_loan(&rig->allocator, 1, 4000, &d), 0);
        hub_slot_allocator_drop(&rig->allocator, d.payload_slot);
    }
    assert_int_equal(allocator_free(&rig->allocator), free_before);
    class_rig_end(rig);
}

/* r[verify shm.varslot.ownership] r[verify shm.varslot.shared] */
static void grants_are_a_share_and_never_more_than_half_of_a_class(void **state)
{
    struct class_rig *rig = class_rig_begin(2, true);

    (void)state;
    for (uint32_t c = 0; c < 3; c++) {
        struct hub_peer_class *block = hub_slot_class_peer(&rig->allocator.map, 1, c);
        uint32_t total = rig->allocator.of[c].total;

        assert_int_equal(hub_load_relaxed(&block->granted), total / 4);
        for (unsigned i = 0; i < 100; i++) {
            hub_store_relaxed(&block->wanted, UINT32_MAX);
            (void)hub_slot_grants_attend(&rig->allocator, 1);
            assert_int_equal(hub_load_relaxed(&block->wanted), 0);
        }
        assert_int_equal(hub_load_relaxed(&block->granted), total / 2);
    }
    assert_int_equal(hub_load_relaxed(&meta_of(rig, 0)->owner_peer), 1);
    class_rig_end(rig);
}

/* r[verify hub.slot.quota] */
static void one_of_several_guests_gets_at_most_half_of_what_the_host_lends(void **state)
{
    struct class_rig *rig = class_rig_begin(2, true);
    struct hub_descriptor d = {0};
    uint32_t count = 0;

    (void)state;
    hub_slot_allocator_set_quota(&rig->allocator, true);
    while (allocator_loan(&rig->allocator, 1, 4096, &d) == 0)
        count++;
    assert_int_equal(count, 3);
    assert_int_equal(allocator_loan(&rig->allocator, 2, 4096, &d), 0);
    class_rig_end(rig);
}

struct lie {
    uint32_t slot, offset, length;
    const char *rule;
};

/* r[verify shm.payload.slot] r[verify shm.slot.payload-offset] r[verify shm.varslot.ownership] */
static void a_descriptor_that_points_elsewhere_is_a_violation(void **state)
{
    static const struct lie lies[] = {
        {0x03000000, 0, 40, "shm.payload.slot"},
        {0xFF000000, 0, 40, "shm.payload.slot"},
        {0x00400000, 0, 40, "shm.payload.slot"},
        {0x00000018, 0, 40, "shm.payload.slot"},
        {0x003FFFFF, 0, 40, "shm.payload.slot"},
        {0x00000000, 0, 65, "shm.slot.payload-offset"},
        {0x00000000, 25, 40, "shm.slot.payload-offset"},
        {0x00000000, UINT32_MAX, UINT32_MAX, "shm.slot.payload-offset"},
        {0x00000017, 0, 40, "shm.varslot.ownership"},
        {0x01000007, 0, 40, "shm.varslot.ownership"},
    };
    struct class_rig *rig = class_rig_begin(1, false);

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct hub_descriptor d = {.payload_slot = lies[i].slot,
                                   .payload_offset = lies[i].offset,
                                   .payload_len = lies[i].length};

        assert_broken(hub_slot_allocator_accept(&rig->allocator, 1, &d, NULL), lies[i].rule);
    }
    class_rig_end(rig);
}

/* r[verify hub.slot.twice] r[verify shm.slot.generation] r[verify shm.varslot.freeing] */
static void a_slot_is_accepted_once_and_given_back_once(void **state)
{
    struct class_rig *rig = class_rig_begin(2, true);
    struct hub_descriptor d = guest_sends(rig, 1, 100, 9), other;

    (void)state;
    other = d;
    assert_broken(hub_slot_allocator_accept(&rig->allocator, 2, &d, NULL), "shm.varslot.ownership");
    other.payload_generation++;
    assert_broken(hub_slot_allocator_accept(&rig->allocator, 1, &other, NULL),
                  "shm.slot.generation");
    assert_int_equal(hub_slot_allocator_accept(&rig->allocator, 1, &d, NULL), 0);
    assert_broken(hub_slot_allocator_accept(&rig->allocator, 1, &d, NULL), "hub.slot.twice");
    hub_store_relaxed(&meta_of(rig, d.payload_slot)->state, HUB_META_FREE);
    assert_broken(hub_slot_grants_free(&rig->allocator, d.payload_slot), "shm.varslot.freeing");
    class_rig_end(rig);
}

/* The sender has reused its slot before it came back: a copy may mix both messages.
 * r[verify shm.slot.generation] */
static void a_generation_that_changed_behind_a_part_is_a_violation(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_descriptor from_guest = guest_sends(rig, 1, 100, 9),
                          from_host = host_sends(rig, 1, 100, 8);
    const struct {
        const struct hub_slot_map *map;
        const struct hub_descriptor *part;
    } readers[] = {{&rig->allocator.map, &from_guest}, {&rig->caches[0].map, &from_host}};
    uint8_t got[100];

    (void)state;
    assert_int_equal(hub_slot_allocator_accept(&rig->allocator, 1, &from_guest, NULL), 0);
    assert_int_equal(hub_slot_cache_accept(&rig->caches[0], &from_host, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        struct hub_a32 *generation = &meta_of(rig, readers[i].part->payload_slot)->generation;

        assert_int_equal(hub_slot_class_copy(readers[i].map, readers[i].part, got), 0);
        hub_store_relaxed(generation, hub_load_relaxed(generation) + 1);
        assert_broken(hub_slot_class_copy(readers[i].map, readers[i].part, got),
                      "shm.slot.generation");
        assert_non_null(strstr(rapahub_last_error()->text, "behind its payload"));
    }
    class_rig_end(rig);
}

static void messages_cross_for_ever_with_few_slots(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        struct hub_descriptor d = guest_sends(rig, 1, 33 + i * 4 % 4000, (uint8_t)i);

        assert_arrives(rig, 1, &d, (uint8_t)i);
    }
    class_rig_end(rig);
}

struct forgery {
    uint32_t head, next; /* pushed on class 0's stack; next_free of slot 23 */
};

/* Slots 0 to 11 are the guest's, 12 to 23 the host's, of which 12 is sent.
 * r[verify shm.varslot.freeing] */
static void what_is_pushed_without_being_held_is_a_violation(void **state)
{
    static const struct forgery forgeries[] = {
        {23, HUB_SLOT_REF_NONE},         /* in the reserve */
        {12, 12},                        /* a circle of one */
        {0, 0},                          /* of the guest's own */
        {0x01000000, HUB_SLOT_REF_NONE}, /* of another class */
        {24, HUB_SLOT_REF_NONE},         /* no slot */
        {0x00400000, HUB_SLOT_REF_NONE}, /* no extent */
        {0x10000000, HUB_SLOT_REF_NONE}, /* no class */
        {12, 0x7FFFFFFF},                /* a link to nowhere */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++)
        for (unsigned shared = 0; shared < 2; shared++) {
            struct class_rig *rig = class_rig_begin(1, shared != 0);
            struct hub_size_class_header *header = rig->allocator.map.of[0].header;
            struct hub_descriptor d = host_sends(rig, 1, 64, 1);
            uint32_t sent = d.payload_slot, r_before = rig->allocator.of[0].in_reserve;
            uint32_t head = forgeries[i].head == 12 ? sent : forgeries[i].head;

            assert_int_equal(sent, 12);
            if (hub_slot_class_has(&rig->allocator.map, head))
                hub_store_relaxed(&meta_of(rig, head)->next_free, forgeries[i].next);
            hub_store_relaxed64(&header->free_head, hub_slot_ref_head(head, 5));
            while (rig->allocator.of[0].in_reserve > 0)
                rig->allocator.of[0].in_reserve--;
            if (shared)
                assert_true(allocator_loan(&rig->allocator, 1, 64, &d) == 0);
            else
                assert_broken(allocator_loan(&rig->allocator, 1, 64, &d), "shm.varslot.freeing");
            assert_int_equal(rig->allocator.stray_refs, 1);
            assert_true(rig->allocator.of[0].in_reserve <= r_before);
            class_rig_end(rig);
        }
}

/* r[verify shm.varslot.ownership] r[verify shm.crash.recovery] */
static void all_a_dead_guest_had_is_in_the_reserve_again(void **state)
{
    struct class_rig *rig = class_rig_begin(2, true);
    uint32_t all = 0, before, after;
    struct hub_descriptor d = {0};

    (void)state;
    for (uint32_t c = 0; c < 3; c++)
        all += rig->allocator.of[c].total;
    (void)host_sends(rig, 1, 64, 1);
    (void)host_sends(rig, 2, 64, 1);
    d = guest_sends(rig, 1, 64, 1);
    assert_int_equal(hub_slot_allocator_accept(&rig->allocator, 1, &d, NULL), 0);
    (void)guest_sends(rig, 1, 4096, 1);
    assert_int_equal(cache_loan(&rig->caches[0], 1024, &d), 0);
    hub_store_relaxed64(&hub_slot_class_peer(&rig->allocator.map, 1, 1)->free_head,
                        0x7777777777777777);
    before = allocator_free(&rig->allocator);
    after = before + hub_slot_grants_reclaim(&rig->allocator, 1);
    assert_int_equal(allocator_free(&rig->allocator), after);
    assert_int_equal(hub_slot_grants_reclaim(&rig->allocator, 1), 0);
    for (uint32_t c = 0; c < 3; c++) {
        struct hub_peer_class *block = hub_slot_class_peer(&rig->allocator.map, 1, c);

        assert_int_equal(hub_load_relaxed(&block->granted), 0);
        assert_int_equal(hub_slot_ref_first(hub_load_relaxed64(&block->free_head)),
                         HUB_SLOT_REF_NONE);
    }
    (void)hub_slot_grants_reclaim(&rig->allocator, 2);
    assert_int_equal(allocator_free(&rig->allocator), all);
    class_rig_end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_class_of_the_last_size_is_taken_only_where_it_fits),
        cmocka_unit_test(the_smallest_class_that_fits_is_taken_and_a_larger_one_once_it_is_empty),
        cmocka_unit_test(what_a_guest_gives_back_is_lent_again_with_another_generation),
        cmocka_unit_test(what_waits_to_be_pushed_back_is_held_until_it_is),
        cmocka_unit_test(large_payloads_go_into_the_few_slots_that_are_warm),
        cmocka_unit_test(a_dropped_loan_is_in_the_reserve_again),
        cmocka_unit_test(grants_are_a_share_and_never_more_than_half_of_a_class),
        cmocka_unit_test(one_of_several_guests_gets_at_most_half_of_what_the_host_lends),
        cmocka_unit_test(a_descriptor_that_points_elsewhere_is_a_violation),
        cmocka_unit_test(a_slot_is_accepted_once_and_given_back_once),
        cmocka_unit_test(a_generation_that_changed_behind_a_part_is_a_violation),
        cmocka_unit_test(messages_cross_for_ever_with_few_slots),
        cmocka_unit_test(what_is_pushed_without_being_held_is_a_violation),
        cmocka_unit_test(all_a_dead_guest_had_is_in_the_reserve_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
