/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/ids.h"
#include "tests/support/testing.h"

/* r[verify cluster.ids.token] */
static void a_token_has_the_bits_of_its_parts(void **state)
{
    uint64_t token = cluster_ids_token(0x7ab, UINT64_C(0xc12345678), 0x9def);

    (void)state;
    assert_int_equal(token, UINT64_C(0x7abc123456789def));
    assert_int_equal(cluster_ids_generation(token), 0x7ab);
    assert_int_equal(cluster_ids_epoch(token), UINT64_C(0xc12345678));
    assert_int_equal(cluster_ids_life(token), 0x9def);
}

/* r[verify cluster.ids.token] */
static void a_later_life_has_a_greater_token(void **state)
{
    uint64_t first = cluster_ids_token(3, 7, 0), last = cluster_ids_token(3, 7, CLUSTER_LIFE_MAX);

    (void)state;
    assert_int_equal(cluster_ids_next_life(first), cluster_ids_token(3, 7, 1));
    assert_true(cluster_ids_next_life(first) > first);
    assert_true(cluster_ids_token(3, 8, 0) > last);
    assert_true(cluster_ids_token(4, 1, 0) > cluster_ids_token(3, CLUSTER_EPOCH_MAX, 65535));
    assert_int_equal(cluster_ids_next_life(last), 0);
}

/* r[verify cluster.ids.token] */
static void no_token_has_a_part_out_of_bounds(void **state)
{
    (void)state;
    assert_int_equal(cluster_ids_token(CLUSTER_GENERATION_MAX + 1, 1, 0), 0);
    assert_int_equal(cluster_ids_token(0, 0, 5), 0);
    assert_int_equal(cluster_ids_token(0, CLUSTER_EPOCH_MAX + 1, 0), 0);
    assert_int_equal(cluster_ids_token(0, 1, CLUSTER_LIFE_MAX + 1), 0);
    assert_true(cluster_ids_is_token(cluster_ids_token(CLUSTER_GENERATION_MAX, 1, 0)));
    assert_true(cluster_ids_is_token(cluster_ids_token(0, CLUSTER_EPOCH_MAX, 65535)));
    assert_false(cluster_ids_is_token(0));
    assert_false(cluster_ids_is_token(65535));
    assert_false(cluster_ids_is_token(UINT64_C(1) << 63 | UINT64_C(1) << 16));
}

/* r[verify cluster.ids.revision] */
static void a_restored_store_counts_above_all_that_were_seen(void **state)
{
    uint64_t seen = cluster_ids_revision(4, CLUSTER_OWN_REVISION_MAX),
             restored = cluster_ids_revision(5, 1);

    (void)state;
    assert_int_equal(seen, UINT64_C(0x004fffffffffffff));
    assert_int_equal(restored, UINT64_C(0x0050000000000001));
    assert_int_equal(cluster_ids_generation(restored), 5);
    assert_int_equal(cluster_ids_own(restored), 1);
}

/* r[verify cluster.ids.revision] */
static void no_revision_has_a_part_out_of_bounds(void **state)
{
    (void)state;
    assert_int_equal(cluster_ids_revision(CLUSTER_GENERATION_MAX + 1, 1), 0);
    assert_int_equal(cluster_ids_revision(1, 0), 0);
    assert_int_equal(cluster_ids_revision(1, CLUSTER_OWN_REVISION_MAX + 1), 0);
    assert_true(cluster_ids_is_revision(1));
    assert_false(cluster_ids_is_revision(UINT64_C(1) << 52));
    assert_false(cluster_ids_is_revision(UINT64_C(1) << 63 | 1));
}

/* r[verify cluster.ids.uid] */
static void an_origin_is_a_session_or_the_number_of_a_client(void **state)
{
    const uint64_t client = UINT64_C(1) << 63 | 5;

    (void)state;
    assert_true(cluster_ids_is_client(client));
    assert_false(cluster_ids_is_client(cluster_ids_revision(CLUSTER_GENERATION_MAX, 9)));
    assert_true(cluster_ids_is_uid((struct cluster_uid){client, 1}));
    assert_true(cluster_ids_is_uid((struct cluster_uid){cluster_ids_revision(1, 9), 1}));
    assert_false(cluster_ids_is_uid((struct cluster_uid){client, 0}));
    assert_false(cluster_ids_is_uid((struct cluster_uid){0, 1}));
}

static void a_pool_is_one_number_and_two(void **state)
{
    const struct rapahub_pool_id pool = {300, 4};
    uint64_t number = cluster_ids_pool(pool);

    (void)state;
    assert_int_equal(number, (UINT64_C(300) << 32) + 4);
    assert_int_equal(cluster_ids_pool_of(number).major, 300);
    assert_int_equal(cluster_ids_pool_of(number).minor, 4);
}

/* r[verify cluster.ids.pool] */
static void the_lowest_pools_and_the_highest_are_not_of_the_cluster(void **state)
{
    (void)state;
    assert_false(cluster_ids_is_pool(UINT64_C(255) << 32 | 7));
    assert_true(cluster_ids_is_pool(UINT64_C(256) << 32));
    assert_true(cluster_ids_is_pool(UINT64_C(0xfffffffe) << 32 | UINT32_MAX));
    assert_false(cluster_ids_is_pool(UINT64_C(0xffffffff) << 32 | 16));
    assert_true(cluster_ids_is_container(0));
    assert_true(cluster_ids_is_container(4095));
    assert_false(cluster_ids_is_container(4096));
}

static void a_lineage_is_an_epoch_and_a_life_without_a_generation(void **state)
{
    (void)state;
    assert_int_equal(cluster_ids_lineage(2, 3), 0x20003);
    assert_int_equal(cluster_ids_lineage(0, 3), 0);
    assert_true(cluster_ids_is_lineage(0x20003));
    assert_false(cluster_ids_is_lineage(3));
    assert_false(cluster_ids_is_lineage(cluster_ids_token(1, 2, 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_has_the_bits_of_its_parts),
        cmocka_unit_test(a_later_life_has_a_greater_token),
        cmocka_unit_test(no_token_has_a_part_out_of_bounds),
        cmocka_unit_test(a_restored_store_counts_above_all_that_were_seen),
        cmocka_unit_test(no_revision_has_a_part_out_of_bounds),
        cmocka_unit_test(an_origin_is_a_session_or_the_number_of_a_client),
        cmocka_unit_test(a_pool_is_one_number_and_two),
        cmocka_unit_test(the_lowest_pools_and_the_highest_are_not_of_the_cluster),
        cmocka_unit_test(a_lineage_is_an_epoch_and_a_life_without_a_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
