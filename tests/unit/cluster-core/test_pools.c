/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/map/pools.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL UINT64_C(0x0000010000000000)
#define MOST 3

static struct pool_records records;
static const uint64_t methods[] = {900, 7, 80};

static int put(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
               const struct pool_records_pool *record)
{
    return cluster_pools_put(pools, pool, revision, pool_records_of(record, &records));
}

static struct cluster_pools *open_pools(void)
{
    struct cluster_pools *pools;

    assert_int_equal(cluster_pools_create(MOST, 1, &pools), 0);
    return pools;
}

/* r[verify cluster.map.pools] */
static void a_pool_is_known_by_number_and_name(void **state)
{
    const struct pool_records_pool kv = {.name = "kv", .containers = 5};
    struct cluster_pools *pools = open_pools();
    const struct cluster_pools_pool *pool;

    (void)state;
    assert_null(cluster_pools_find(pools, POOL));
    assert_int_equal(put(pools, POOL, 10, &kv), 0);
    pool = cluster_pools_find(pools, POOL);
    assert_non_null(pool);
    assert_string_equal(pool->name, "kv");
    assert_int_equal(pool->containers, 5);
    assert_int_equal(pool->state, CLUSTER_POOL_ACTIVE);
    assert_int_equal(pool->revision, 10);
    assert_ptr_equal(cluster_pools_named(pools, pool_records_text("kv")), pool);
    assert_null(cluster_pools_named(pools, pool_records_text("k")));
    assert_null(cluster_pools_named(pools, pool_records_text("kv2")));
    assert_null(cluster_pools_named(pools, pool_records_text("")));
    assert_int_equal(cluster_pools_container(pools, pool, 13), 3);
    cluster_pools_remove(pools, POOL);
    cluster_pools_remove(pools, POOL);
    assert_null(cluster_pools_find(pools, POOL));
    assert_null(cluster_pools_after(pools, 0));
    cluster_pools_release(&pools);
}

/* r[verify cluster.map.pools] */
static void methods_are_those_of_the_module_and_the_spec_says_which_repeat(void **state)
{
    const struct cluster_pool_method said[] = {
        {.id = 7, .repeat = true}, {.id = 8, .repeat = true}, {.id = 900, .outside = true}};
    struct pool_records_pool kv = {.name = "kv",
                                   .containers = 1,
                                   .methods = methods,
                                   .methods_count = 3,
                                   .said = said,
                                   .said_count = 3};
    struct cluster_pools *pools = open_pools();
    const struct cluster_pools_pool *pool;

    (void)state;
    assert_int_equal(put(pools, POOL, 1, &kv), 0);
    pool = cluster_pools_find(pools, POOL);
    assert_true(cluster_pools_method(pools, pool, 7)->repeat);
    assert_false(cluster_pools_method(pools, pool, 7)->outside);
    assert_false(cluster_pools_method(pools, pool, 80)->repeat);
    assert_true(cluster_pools_method(pools, pool, 900)->outside);
    assert_null(cluster_pools_method(pools, pool, 8));
    kv.repeat_all = true;
    assert_int_equal(put(pools, POOL, 2, &kv), 0);
    assert_true(cluster_pools_method(pools, pool, 80)->repeat);
    cluster_pools_release(&pools);
}

/* r[verify cluster.map.pools] */
static void an_older_record_is_left(void **state)
{
    struct pool_records_pool kv = {.name = "kv", .containers = 5};
    struct cluster_pools *pools = open_pools();

    (void)state;
    assert_int_equal(put(pools, POOL, 10, &kv), 0);
    kv.containers = 6;
    assert_int_equal(put(pools, POOL, 9, &kv), 0);
    assert_int_equal(put(pools, POOL, 10, &kv), 0);
    assert_int_equal(cluster_pools_find(pools, POOL)->containers, 5);
    assert_int_equal(put(pools, POOL, 11, &kv), 0);
    assert_int_equal(cluster_pools_find(pools, POOL)->containers, 6);
    cluster_pools_release(&pools);
}

/* r[verify cluster.map.pools] */
static void a_record_that_does_not_fit_itself_changes_nothing(void **state)
{
    const struct pool_records_pool kv = {.name = "kv", .containers = 5};
    struct cluster_pools *pools = open_pools();
    struct cluster_record_pool record;

    (void)state;
    assert_int_equal(put(pools, POOL, 10, &kv), 0);
    record = *pool_records_of(&kv, &records);
    record.spec.size--;
    assert_int_equal(cluster_pools_put(pools, POOL, 11, &record), RAPAHUB_EFORMAT);
    record.spec.size++;
    record.manifest.size = 0;
    assert_int_equal(cluster_pools_put(pools, POOL, 11, &record), RAPAHUB_EFORMAT);
    record = *pool_records_of(&kv, &records);
    record.slots_count = 1;
    assert_int_equal(cluster_pools_put(pools, POOL, 11, &record), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_pools_put(pools, POOL + 1, 11, &record), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_pools_find(pools, POOL)->revision, 10);
    assert_null(cluster_pools_find(pools, POOL + 1));
    cluster_pools_release(&pools);
}

/* r[verify cluster.map.bounds] */
static void more_pools_than_there_may_be_are_refused(void **state)
{
    const struct pool_records_pool kv = {.name = "kv", .containers = 5};
    struct cluster_pools *pools = open_pools();

    (void)state;
    for (uint64_t i = 0; i < MOST; i++)
        assert_int_equal(put(pools, POOL + i, 10, &kv), 0);
    assert_int_equal(put(pools, POOL + MOST, 10, &kv), RAPAHUB_EFULL);
    assert_int_equal(put(pools, POOL, 11, &kv), 0);
    cluster_pools_remove(pools, POOL + 1);
    assert_int_equal(put(pools, POOL + MOST, 10, &kv), 0);
    cluster_pools_release(&pools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_known_by_number_and_name),
        cmocka_unit_test(methods_are_those_of_the_module_and_the_spec_says_which_repeat),
        cmocka_unit_test(an_older_record_is_left),
        cmocka_unit_test(a_record_that_does_not_fit_itself_changes_nothing),
        cmocka_unit_test(more_pools_than_there_may_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
