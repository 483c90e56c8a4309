/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/create.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
static const struct ops_stage_pool kv = {.name = "kv", .containers = 2};

static uint64_t pool_number(uint32_t major)
{
    return cluster_ids_pool((struct rapahub_pool_id){major, 0});
}

static void start(void)
{
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
}

static void begin_all(int status)
{
    uint64_t ids[8];
    uint32_t count = 0;

    for (uint32_t i = 0; i < stage.out.count; i++)
        if (stage.out.effects[i].kind == CLUSTER_EFFECT_BEGIN)
            ids[count++] = stage.out.effects[i].id;
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; i++)
        ops_stage_end_begin(&stage, ids[i], i + 1 == count ? status : 0);
}

/* r[verify cluster.create.whole] r[verify cluster.restart.serves] */
static void no_call_reaches_a_pool_before_all_of_it_is_there(void **state)
{
    struct cluster_record record;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    record = ops_stage_record(&stage, CLUSTER_KEY_POOL, 0);
    assert_int_equal(record.pool.state, CLUSTER_POOL_CREATING);
    assert_int_equal(record.pool.containers, 2);
    record = ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0);
    assert_int_equal(record.operation.step, CLUSTER_OPERATION_BEGINNING);
    record = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 1);
    assert_int_equal(record.entry.state, CLUSTER_ENTRY_STARTING);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, 1);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 2);
    begin_all(0);
    assert_int_equal(stage.begun, 2);
    ops_stage_commit(&stage); /* the first one's entry is active */
    ops_stage_commit(&stage); /* and the second one's */
    assert_int_equal(ops_stage_state(&stage, pool_number(256), 1), CLUSTER_ENTRY_ACTIVE);
    assert_int_equal(stage.served, 0);
    record = ops_stage_record(&stage, CLUSTER_KEY_POOL, 0);
    assert_int_equal(record.pool.state, CLUSTER_POOL_ACTIVE);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_RELEASE, 2);
    assert_int_equal(stage.served, 2);
    assert_int_equal(ops_stage_operation(&stage, 1)->state, CLUSTER_OPERATION_DONE);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.whole] */
static void nothing_stays_of_a_pool_whose_container_refuses(void **state)
{
    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    begin_all(RAPAHUB_EINVAL);
    ops_stage_commit(&stage); /* the entry of the one that has begun */
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_POOL, 0).pool.state,
                     CLUSTER_POOL_DESTROYING);
    assert_int_equal(ops_stage_wait(&stage, 1), 0);
    ops_stage_commit(&stage);
    while (!stage.txn) {
        uint64_t ids[2];
        uint32_t count = 0;

        for (uint32_t i = 0; i < stage.out.count; i++)
            if (stage.out.effects[i].kind == CLUSTER_EFFECT_REMOVE)
                ids[count++] = stage.out.effects[i].id;
        assert_int_equal(count, 2);
        for (uint32_t i = 0; i < count; i++)
            ops_stage_end_removal(&stage, ids[i], 0);
    }
    assert_non_null(ops_stage_write(&stage, CLUSTER_KEY_NAME, 0));
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, RAPAHUB_EINVAL, 1);
    assert_memory_equal(ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 1)->text.data, "it failed",
                        9);
    assert_int_equal(ops_stage_operation(&stage, 1)->state, CLUSTER_OPERATION_ABORTED);
    assert_null(cluster_pools_find(stage.context.pools, pool_number(256)));
    assert_int_equal(cluster_address_map_count(stage.context.map), 0);
    assert_int_equal(stage.gone, 2);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.whole] */
static void a_guest_that_dies_is_tried_three_times(void **state)
{
    uint32_t begins = 0;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"kv", 1, 0, NULL, 0}), 0);
    ops_stage_commit(&stage);
    while (!stage.txn) {
        begins++;
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                            RAPAHUB_EDIED);
        if (!stage.txn)
            ops_stage_pass(&stage, 2000);
    }
    assert_int_equal(begins, 3);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0).operation.step,
                     CLUSTER_OPERATION_UNDOING);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.whole] */
static void its_time_is_bounded(void **state)
{
    uint64_t budget = CLUSTER_CREATE_BUDGET_MS + 2 * CLUSTER_CREATE_BUDGET_EACH_MS;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    ops_stage_pass(&stage, budget - 1);
    assert_null(stage.txn);
    assert_int_equal(cluster_ops_next(stage.ops), stage.now + STAGE_MS);
    ops_stage_pass(&stage, 1);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0).operation.result,
                     RAPAHUB_ETIMEDOUT);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 0); /* its begins have not ended */
    ops_stage_close(&stage);
}

/* r[verify cluster.operation.txn] */
static void a_large_pool_is_placed_in_parts(void **state)
{
    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"kv", 130, 0, NULL, 0}), 0);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0).operation.step,
                     CLUSTER_OPERATION_PLACING);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 60);
    assert_null(ops_stage_write(&stage, CLUSTER_KEY_OPERATION, 0));
    assert_non_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 59));
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 4); /* no more at a time */
    assert_non_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 9));
    assert_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 10));
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0).operation.step,
                     CLUSTER_OPERATION_BEGINNING);
    ops_stage_commit(&stage);
    assert_int_equal(cluster_address_map_count(stage.context.map), 130);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.name] r[verify cluster.pool.differ] */
static void the_same_pool_is_made_once_and_another_is_refused(void **state)
{
    struct ops_stage_pool other = kv;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0); /* before it is in the metastore */
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 0);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 2);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_ordered(&stage, 0, 1);
    other.containers = 3;
    other.params = "x";
    assert_int_equal(ops_stage_apply(&stage, &other), RAPAHUB_EDIFFERS);
    assert_non_null(strstr(rapahub_last_error()->text, "containers, params"));
    assert_null(ops_stage_operation(&stage, 2));
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_EAGAIN);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.number] */
static void numbers_of_pools_go_on_from_those_that_were(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    assert_int_equal(cluster_ops_take_next_pool(stage.ops, 255, 9), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_ops_take_next_pool(stage.ops, UINT64_MAX, 9), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_ops_take_next_pool(stage.ops, 300, 9), 0);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_NEXT_POOL, 0).counter.next, 301);
    assert_non_null(cluster_pools_find(stage.context.pools, pool_number(300)));
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"b", 1, 0, NULL, 0}), 0);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_NEXT_POOL, 0).counter.next, 302);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.module] r[verify cluster.create.placement] r[verify cluster.map.bounds]
 */
static void a_pool_that_cannot_be_is_refused(void **state)
{
    struct cluster_orders_order order;
    struct ops_stage_pool elsewhere = kv;

    (void)state;
    start();
    order = ops_stage_spec(&stage, &kv);
    order.spec.size--;
    assert_int_equal(ops_stage_order(&stage, &order), RAPAHUB_EFORMAT);
    order = ops_stage_spec(&stage, &kv);
    order.manifest.size--;
    assert_int_equal(ops_stage_order(&stage, &order), RAPAHUB_EFORMAT);
    order = ops_stage_spec(&stage, &kv);
    order.digest.size = 5;
    assert_int_equal(ops_stage_order(&stage, &order), RAPAHUB_EINVAL);
    order = ops_stage_spec(&stage, &kv);
    ((uint8_t *)(uintptr_t)order.manifest.data)[2] = 'k'; /* the name of its module */
    assert_int_equal(ops_stage_order(&stage, &order), RAPAHUB_EINVAL);
    order = ops_stage_spec(&stage, &kv);
    order.module_revision = 0;
    assert_int_equal(ops_stage_order(&stage, &order), RAPAHUB_EINVAL);
    elsewhere.only = 2;
    assert_int_equal(ops_stage_apply(&stage, &elsewhere), RAPAHUB_EINVAL);
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"kv", 201, 0, NULL, 0}),
                     RAPAHUB_EFULL);
    assert_null(cluster_pools_after(stage.context.pools, 0));
    assert_int_equal(cluster_ops_orders(stage.ops), 0);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_reaches_a_pool_before_all_of_it_is_there),
        cmocka_unit_test(nothing_stays_of_a_pool_whose_container_refuses),
        cmocka_unit_test(a_guest_that_dies_is_tried_three_times),
        cmocka_unit_test(its_time_is_bounded),
        cmocka_unit_test(a_large_pool_is_placed_in_parts),
        cmocka_unit_test(the_same_pool_is_made_once_and_another_is_refused),
        cmocka_unit_test(numbers_of_pools_go_on_from_those_that_were),
        cmocka_unit_test(a_pool_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
