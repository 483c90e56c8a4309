/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/map/hash_slots.h"
#include "tests/unit/cluster-core/pool_records.h"

static struct pool_records records;
static uint16_t moved[4096];

/* r[verify cluster.pool.slots] */
static void hashes_lead_where_the_record_says(void **state)
{
    const struct pool_records_pool fresh = {.name = "fresh", .containers = 3},
                                   scaled = {.name = "scaled",
                                             .containers = 3,
                                             .slots = moved,
                                             .slots_count = 4096};
    struct cluster_hash_slots *slots;

    (void)state;
    moved[5] = 2;
    moved[4095] = 1;
    assert_int_equal(cluster_hash_slots_create(2, &slots), 0);
    assert_int_equal(cluster_hash_slots_set(slots, 1, pool_records_of(&fresh, &records)), 0);
    assert_int_equal(cluster_hash_slots_set(slots, 2, pool_records_of(&scaled, &records)), 0);
    for (uint64_t hash = 0; hash < 10; hash++) {
        assert_int_equal(cluster_hash_slots_container(slots, 1, hash), hash % 3);
        assert_int_equal(cluster_hash_slots_container(slots, 2, hash), hash == 5 ? 2 : 0);
    }
    assert_int_equal(cluster_hash_slots_container(slots, 2, 4095), 1);
    assert_int_equal(cluster_hash_slots_container(slots, 2, 4096 + 5), 2);
    assert_int_equal(cluster_hash_slots_set(slots, 2, pool_records_of(&fresh, &records)), 0);
    assert_int_equal(cluster_hash_slots_container(slots, 2, 4095), 0);
    cluster_hash_slots_release(&slots);
}

/* r[verify cluster.pool.slots] */
static void slots_that_no_pool_has_leave_those_of_before(void **state)
{
    const struct pool_records_pool fresh = {.name = "fresh", .containers = 3};
    struct cluster_record_pool record = *pool_records_of(&fresh, &records);
    struct cluster_hash_slots *slots;

    (void)state;
    assert_int_equal(cluster_hash_slots_create(1, &slots), 0);
    assert_int_equal(cluster_hash_slots_set(slots, 1, &record), 0);
    record.containers = 5;
    assert_int_equal(cluster_hash_slots_set(slots, 1, &record), RAPAHUB_EFORMAT);
    record.slots_count = CLUSTER_POOL_SLOTS_MAX + 1;
    assert_int_equal(cluster_hash_slots_set(slots, 1, &record), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_hash_slots_container(slots, 1, 4), 1);
    cluster_hash_slots_release(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_lead_where_the_record_says),
        cmocka_unit_test(slots_that_no_pool_has_leave_those_of_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
