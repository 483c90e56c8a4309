/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/removal.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
static const struct ops_stage_pool kv = {.name = "kv", .containers = 1};

static void start(void)
{
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
}

/* r[verify cluster.delete.all] */
static void a_pool_goes_after_its_containers(void **state)
{
    uint64_t pool;

    (void)state;
    start();
    pool = ops_stage_pool(&stage, &kv);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_POOL, 0).pool.state,
                     CLUSTER_POOL_DESTROYING);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_HOLD, 0);
    assert_int_equal(stage.closed, 0);
    ops_stage_commit(&stage);
    assert_int_equal(stage.closed, 1);
    ops_stage_ordered(&stage, 0, 2);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_HOLD, 1);
    assert_null(stage.txn);
    ops_stage_end_removal(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 1)->id, 0);
    assert_int_equal(stage.gone, 1);
    assert_int_equal(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 0)->kind, CLUSTER_DELETE);
    assert_int_equal(ops_stage_write(&stage, CLUSTER_KEY_POOL, 0)->kind, CLUSTER_DELETE);
    assert_int_equal(ops_stage_write(&stage, CLUSTER_KEY_NAME, 0)->kind, CLUSTER_DELETE);
    ops_stage_commit(&stage);
    assert_null(cluster_pools_find(stage.context.pools, pool));
    assert_int_equal(cluster_address_map_count(stage.context.map), 0);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    ops_stage_close(&stage);
}

/* r[verify cluster.delete.name] */
static void a_pool_is_removed_once(void **state)
{
    (void)state;
    start();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), RAPAHUB_ENOPOOL);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), RAPAHUB_EAGAIN);
    ops_stage_commit(&stage);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    ops_stage_commit(&stage);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_ordered(&stage, 0, 2);
    ops_stage_close(&stage);
}

/* r[verify cluster.delete.name] */
static void a_creation_that_is_under_way_is_aborted(void **state)
{
    uint64_t id;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    id = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id;
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 1)->state, CLUSTER_OPERATION_ABORTED);
    assert_int_equal(ops_stage_operation(&stage, 1)->result, RAPAHUB_ECANCELED);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_REMOVING);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 0); /* its begin has not ended */
    ops_stage_end_begin(&stage, id, 0);
    ops_stage_end_removal(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 1)->id, 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    assert_int_equal(stage.served, 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.delete.all] */
static void one_that_stays_does_not_keep_its_pool(void **state)
{
    uint32_t attempts = 0;

    (void)state;
    start();
    (void)ops_stage_pool(&stage, &kv);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    while (!stage.txn) {
        attempts++;
        ops_stage_end_removal(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 1)->id,
                              RAPAHUB_EIO);
        if (!stage.txn)
            ops_stage_pass(&stage, 10000);
    }
    assert_int_equal(attempts, CLUSTER_LIVES_REMOVALS_MAX);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    assert_string_equal(ops_stage_operation(&stage, 2)->text, "it stays");
    ops_stage_close(&stage);
}

/* r[verify cluster.delete.name] */
static void a_pool_that_its_creation_removes_first_is_removed(void **state)
{
    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                        RAPAHUB_EINVAL);
    ops_stage_commit(&stage); /* it is being undone */
    ops_stage_end_removal(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 1)->id, 0);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage); /* it is gone */
    assert_null(cluster_pools_after(stage.context.pools, 0));
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, 2);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    assert_int_equal(ops_stage_operation(&stage, 1)->result, RAPAHUB_EINVAL);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_goes_after_its_containers),
        cmocka_unit_test(a_pool_is_removed_once),
        cmocka_unit_test(a_creation_that_is_under_way_is_aborted),
        cmocka_unit_test(one_that_stays_does_not_keep_its_pool),
        cmocka_unit_test(a_pool_that_its_creation_removes_first_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
