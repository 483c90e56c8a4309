/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/orders.h"
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

/* r[verify cluster.orders.once] r[verify cluster.orders.wait] */
static void one_that_waits_ends_with_its_operation(void **state)
{
    uint64_t id;

    (void)state;
    start();
    assert_int_equal(ops_stage_wait(&stage, 1), RAPAHUB_ENOENT);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    id = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id;
    assert_int_equal(ops_stage_wait(&stage, 1), 0);
    ops_stage_end_begin(&stage, id, 0);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 0);
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, 1);
    assert_int_equal(cluster_ops_orders(stage.ops), 0);
    assert_int_equal(ops_stage_wait(&stage, 1), 0); /* and after its end at once */
    ops_stage_ordered(&stage, 0, 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.once] */
static void one_that_is_cancelled_ends_and_its_operation_goes_on(void **state)
{
    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_int_equal(cluster_ops_cancel(stage.ops, 7), RAPAHUB_ENOENT);
    assert_int_equal(cluster_ops_cancel(stage.ops, stage.orders), 0);
    ops_stage_step(&stage);
    ops_stage_ordered(&stage, RAPAHUB_ECANCELED, 1);
    assert_int_equal(cluster_ops_cancel(stage.ops, stage.orders), RAPAHUB_ENOENT);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 0);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.once] */
static void a_number_is_of_one_open_order(void **state)
{
    struct cluster_orders_order order;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    order = (struct cluster_orders_order){
        .kind = CLUSTER_ORDER_WAIT, .number = stage.orders, .operation = 1};
    assert_int_equal(cluster_ops_order(stage.ops, &order), RAPAHUB_EEXIST);
    ops_stage_commit(&stage);
    assert_int_equal(cluster_ops_order(stage.ops, &order), 0);
    order.number++;
    order.kind = CLUSTER_ORDER_KINDS;
    assert_int_equal(cluster_ops_order(stage.ops, &order), RAPAHUB_EINVAL);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.bounds] */
static void so_many_are_open_at_once(void **state)
{
    struct cluster_orders_order order = {.kind = CLUSTER_ORDER_WAIT, .operation = 1};
    uint32_t open = 0;
    int status;

    (void)state;
    start();
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    do {
        order.number = 1000 + open;
        status = cluster_ops_order(stage.ops, &order);
        open += status == 0;
    } while (status == 0);
    assert_int_equal(status, RAPAHUB_EBUSY);
    assert_true(open == CLUSTER_ORDERS_MAX || open > STAGE_EFFECTS - 20); /* a place for each end */
    for (uint32_t i = 0; i < open; i++)
        assert_int_equal(cluster_ops_cancel(stage.ops, 1000 + i), 0);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_waits_ends_with_its_operation),
        cmocka_unit_test(one_that_is_cancelled_ends_and_its_operation_goes_on),
        cmocka_unit_test(a_number_is_of_one_open_order),
        cmocka_unit_test(so_many_are_open_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
