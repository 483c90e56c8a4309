/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/pool.h"
#include "tests/support/testing.h"

/* r[verify cluster.pool.states] */
static void a_pool_is_made_used_changed_and_removed(void **state)
{
    const uint32_t last = CLUSTER_POOL_DESTROYING;
    const struct hub_states *states = &cluster_pool_states;

    (void)state;
    assert_true(hub_states_may(states, CLUSTER_POOL_CREATING, CLUSTER_POOL_ACTIVE));
    assert_true(hub_states_may(states, CLUSTER_POOL_ACTIVE, CLUSTER_POOL_UPGRADING));
    assert_true(hub_states_may(states, CLUSTER_POOL_UPGRADING, CLUSTER_POOL_ACTIVE));
    assert_false(hub_states_may(states, CLUSTER_POOL_CREATING, CLUSTER_POOL_UPGRADING));
    for (uint32_t other = 0; other < CLUSTER_POOL_STATES; other++) {
        assert_int_equal(hub_states_may(states, other, last), other != last);
        assert_false(hub_states_may(states, last, other));
    }
    assert_string_equal(hub_states_name(states, last), "DESTROYING");
}

/* r[verify cluster.pool.slots] */
static void in_a_new_pool_a_hash_leads_to_its_rest(void **state)
{
    const uint32_t counts[] = {1, 2, 3, 7, 1000, 2049, 4095, 4096};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct cluster_pool_slots slots = cluster_pool_new_slots(counts[i]);
        uint64_t hash = 1;

        assert_true(slots.count >= 4096 && slots.count <= CLUSTER_POOL_SLOTS_MAX);
        assert_int_equal(slots.count % counts[i], 0);
        assert_true(cluster_pool_has_sound_slots(&slots));
        for (int n = 0; n < 1000; n++, hash = hash * UINT64_C(6364136223846793005) + 1)
            assert_int_equal(cluster_pool_container(&slots, hash), hash % counts[i]);
        assert_int_equal(cluster_pool_container(&slots, UINT64_MAX), UINT64_MAX % counts[i]);
    }
    assert_int_equal(cluster_pool_new_slots(1).count, 4096);
    assert_int_equal(cluster_pool_new_slots(4095).count, CLUSTER_POOL_SLOTS_MAX);
}

/* r[verify cluster.pool.slots] */
static void a_slot_that_has_moved_leads_to_another_container(void **state)
{
    static uint16_t of[4096];
    struct cluster_pool_slots slots = {.of = of, .count = 4096, .containers = 3};

    (void)state;
    of[5] = 2;
    assert_true(cluster_pool_has_sound_slots(&slots));
    assert_int_equal(cluster_pool_container(&slots, 5), 2);
    assert_int_equal(cluster_pool_container(&slots, 4096 + 5), 2);
    assert_int_equal(cluster_pool_container(&slots, 6), 0);
}

/* r[verify cluster.pool.slots] */
static void slots_that_no_pool_has_are_refused(void **state)
{
    static uint16_t of[CLUSTER_POOL_SLOTS_MAX + 1];
    struct cluster_pool_slots slots = {.of = of, .count = 4096, .containers = 3};

    (void)state;
    of[0] = 3;
    assert_false(cluster_pool_has_sound_slots(&slots));
    of[0] = 2;
    of[4095] = 3;
    assert_false(cluster_pool_has_sound_slots(&slots));
    of[4095] = 2;
    of[4096] = 3; /* after the last */
    assert_true(cluster_pool_has_sound_slots(&slots));
    slots.count = 4095;
    assert_false(cluster_pool_has_sound_slots(&slots));
    slots.count = CLUSTER_POOL_SLOTS_MAX + 1;
    assert_false(cluster_pool_has_sound_slots(&slots));
    slots.count = 4096;
    slots.containers = 0;
    assert_false(cluster_pool_has_sound_slots(&slots));
    slots.containers = 4097;
    assert_false(cluster_pool_has_sound_slots(&slots));
    slots = cluster_pool_new_slots(3);
    slots.count = 4096;
    assert_false(cluster_pool_has_sound_slots(&slots));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_made_used_changed_and_removed),
        cmocka_unit_test(in_a_new_pool_a_hash_leads_to_its_rest),
        cmocka_unit_test(a_slot_that_has_moved_leads_to_another_container),
        cmocka_unit_test(slots_that_no_pool_has_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
