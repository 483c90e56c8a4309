/* SPDX-License-Identifier: Apache-2.0 */
/* Slots for a stream: those that were used longest ago first, so that all go round. */
#include "tests/unit/shm/class_rig.h"

#define ROUNDS 48
#define FEW    4 /* go round where each comes back at once and the warm ones are preferred */

typedef int loan(struct class_rig *rig, size_t size, struct hub_descriptor *out);

static int cache_warm(struct class_rig *rig, size_t size, struct hub_descriptor *out)
{
    return cache_loan(&rig->caches[0], size, out);
}

static int cache_cold(struct class_rig *rig, size_t size, struct hub_descriptor *out)
{
    struct hub_slot_loan slot;
    int r = hub_slot_cache_loan_cold(&rig->caches[0], size, &slot);

    return note_loan(r, &slot, out);
}

static int allocator_warm(struct class_rig *rig, size_t size, struct hub_descriptor *out)
{
    return allocator_loan(&rig->allocator, 1, size, out);
}

static int allocator_cold(struct class_rig *rig, size_t size, struct hub_descriptor *out)
{
    struct hub_slot_loan slot;
    int r = hub_slot_allocator_loan_cold(&rig->allocator, 1, size, &slot);

    return note_loan(r, &slot, out);
}

/* Each comes back before the next is lent: how many different ones were used. */
static uint32_t that_go_round(struct class_rig *rig, bool guest, loan *next, size_t size)
{
    uint32_t seen[ROUNDS], count = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct hub_descriptor d = {.payload_len = (uint32_t)size};
        uint32_t at = 0;

        assert_int_equal(next(rig, size, &d), 0);
        while (at < count && seen[at] != d.payload_slot)
            at++;
        if (at == count)
            seen[count++] = d.payload_slot;
        if (guest) {
            cache_sent(&rig->caches[0], d.payload_slot);
            assert_int_equal(hub_slot_allocator_accept(&rig->allocator, 1, &d, NULL), 0);
            assert_int_equal(hub_slot_grants_free(&rig->allocator, d.payload_slot), 0);
        } else {
            allocator_sent(&rig->allocator, d.payload_slot);
            assert_int_equal(hub_slot_cache_accept(&rig->caches[0], &d, NULL), 0);
            assert_int_equal(hub_slot_cache_free(&rig->caches[0], d.payload_slot), 0);
        }
    }
    return count;
}

/* r[verify shm.varslot.allocation] */
static void all_slots_of_a_guest_go_round(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);

    (void)state;
    assert_in_range(that_go_round(rig, true, cache_warm, 64), 1, FEW);
    assert_int_equal(that_go_round(rig, true, cache_cold, 64), 12);
    assert_in_range(that_go_round(rig, true, cache_warm, 64), 1, 12);
    class_rig_end(rig);
}

static void all_slots_of_the_host_go_round(void **state)
{
    struct class_rig *rig = class_rig_begin(2, false);
    uint32_t warm = that_go_round(rig, false, allocator_warm, 4096);

    (void)state;
    assert_in_range(warm, 1, FEW);
    assert_int_equal(that_go_round(rig, false, allocator_cold, 4096), 6);
    class_rig_end(rig);
}

/* A cache holds all that this guest has: so it asks for more, though it has not run dry. */
static void a_guest_with_few_asks_for_more(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_peer_class *block = hub_slot_class_peer(&rig->caches[0].map, 1, 1);
    struct hub_descriptor d = {.payload_len = 1024};

    (void)state;
    assert_int_equal(cache_warm(rig, 1024, &d), 0);
    hub_slot_cache_drop(&rig->caches[0], d.payload_slot);
    assert_int_equal(hub_load_relaxed(&block->wanted), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(cache_cold(rig, 1024, &d), 0);
    assert_int_equal(cache_cold(rig, 1024, &d), 0); /* from the next class */
    assert_int_equal(hub_load_relaxed(&block->wanted), 1);
    class_rig_end(rig);
}

/* r[verify shm.varslot.freelist] */
static void a_stack_that_holds_what_cannot_be_there_is_a_violation_here_too(void **state)
{
    struct class_rig *rig = class_rig_begin(1, false);
    struct hub_descriptor d = {0};

    (void)state;
    hub_store_relaxed64(&hub_slot_class_peer(&rig->allocator.map, 1, 0)->free_head,
                        hub_slot_ref_head(0x00000018, 1));
    assert_broken(cache_cold(rig, 64, &d), "shm.varslot.freelist");
    class_rig_end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_slots_of_a_guest_go_round),
        cmocka_unit_test(all_slots_of_the_host_go_round),
        cmocka_unit_test(a_guest_with_few_asks_for_more),
        cmocka_unit_test(a_stack_that_holds_what_cannot_be_there_is_a_violation_here_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
