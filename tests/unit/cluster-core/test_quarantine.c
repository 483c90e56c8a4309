/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/quarantine.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
static const struct ops_stage_pool kv = {
    .name = "kv", .containers = 1, .durability = CLUSTER_DURABILITY_CHECKPOINT};

static void fail_begins(int times)
{
    while (times-- > 0) {
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                            RAPAHUB_EINVAL);
        if (stage.txn)
            ops_stage_commit(&stage);
        ops_stage_pass(&stage, 2000);
    }
}

static uint64_t quarantine(void)
{
    uint64_t pool;

    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    pool = ops_stage_pool(&stage, &kv);
    ops_stage_kill(&stage, pool, 0);
    fail_begins(3);
    assert_int_equal(ops_stage_state(&stage, pool, 0), CLUSTER_ENTRY_QUARANTINED);
    return pool;
}

/* r[verify cluster.release.container] */
static void one_that_is_released_begins_again(void **state)
{
    const struct cluster_effect *effect;
    uint64_t pool;

    (void)state;
    pool = quarantine();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, 2);
    effect = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
    assert_int_equal(effect->how, CLUSTER_BEGIN_RECOVER);
    assert_true(effect->copy);
    assert_int_equal(effect->token, cluster_ids_token(0, 4, 0));
    ops_stage_end_begin(&stage, effect->id, 0);
    ops_stage_commit(&stage); /* the entry is active */
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_RELEASE, 1);
    ops_stage_commit(&stage); /* the operation is done */
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    assert_int_equal(ops_stage_state(&stage, pool, 0), CLUSTER_ENTRY_ACTIVE);
    ops_stage_close(&stage);
}

/* r[verify cluster.release.container] */
static void one_that_fails_again_is_quarantined_again(void **state)
{
    uint64_t pool;

    (void)state;
    pool = quarantine();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    ops_stage_commit(&stage);
    fail_begins(3);
    assert_int_equal(ops_stage_state(&stage, pool, 0), CLUSTER_ENTRY_QUARANTINED);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_ABORTED);
    assert_int_equal(ops_stage_operation(&stage, 2)->result, RAPAHUB_EINVAL);
    assert_string_equal(ops_stage_operation(&stage, 2)->text, "it failed");
    ops_stage_close(&stage);
}

/* r[verify cluster.release.container] */
static void only_one_that_is_quarantined_is_released(void **state)
{
    (void)state;
    (void)quarantine();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "b", 0), RAPAHUB_ENOPOOL);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 1), RAPAHUB_EINVAL);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 2);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    ops_stage_commit(&stage);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    ops_stage_ordered(&stage, 0, 0);
    assert_null(ops_stage_operation(&stage, 3));
    ops_stage_close(&stage);
}

/* r[verify cluster.release.container] */
static void it_ends_with_its_pool(void **state)
{
    uint64_t id;

    (void)state;
    (void)quarantine();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    ops_stage_commit(&stage);
    id = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id;
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    ops_stage_end_begin(&stage, id, RAPAHUB_EDIED);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_ABORTED);
    assert_int_equal(ops_stage_operation(&stage, 2)->result, RAPAHUB_ENOPOOL);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_released_begins_again),
        cmocka_unit_test(one_that_fails_again_is_quarantined_again),
        cmocka_unit_test(only_one_that_is_quarantined_is_released),
        cmocka_unit_test(it_ends_with_its_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
