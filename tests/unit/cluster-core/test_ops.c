/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/ops.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
static const struct ops_stage_pool kv = {.name = "kv", .containers = 1};

/* r[verify cluster.orders.start] r[verify cluster.session.start] */
static void before_its_start_a_node_takes_no_orders(void **state)
{
    static const struct cluster_ops_start none = {.boot = 1},
                                          again = {.session = STAGE_SESSION, .boot = 1};

    (void)state;
    ops_stage_open(&stage, &limits);
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_EAGAIN);
    cluster_ops_down(stage.ops, 1, 1);
    assert_int_equal(cluster_ops_start(stage.ops, &none), RAPAHUB_EINVAL);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(cluster_ops_start(stage.ops, &again), RAPAHUB_ESTATE);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_non_null(stage.txn);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.store] */
static void an_order_for_which_there_is_no_space_has_done_nothing(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_NO_SPACE, true);
    ops_stage_ordered(&stage, RAPAHUB_ENOSPC, 1);
    assert_null(cluster_pools_after(stage.context.pools, 0));
    assert_null(ops_stage_operation(&stage, 1));
    ops_stage_pass(&stage, 10000);
    assert_null(stage.txn);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0); /* there is space again */
    ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, 2);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.store] */
static void an_order_that_the_metastore_does_not_take_ends(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    for (int i = 0; i < CLUSTER_OPS_ATTEMPTS_MAX; i++) {
        (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 0);
        if (i > 0)
            ops_stage_pass(&stage, 10000);
        ops_stage_end_txn(&stage, CLUSTER_TXN_NOT_APPLIED, true);
    }
    ops_stage_ordered(&stage, RAPAHUB_EAGAIN, 1);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), RAPAHUB_ENOPOOL);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.store] */
static void when_the_metastore_has_closed_all_orders_end(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    (void)ops_stage_pool(&stage, &kv);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_wait(&stage, 2), 0);
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"b", 1, 0, NULL, 0}), 0);
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"c", 1, 0, NULL, 0}), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_CORRUPT, true);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 3);
    assert_int_equal(cluster_ops_orders(stage.ops), 0);
    assert_null(ops_stage_operation(&stage, 3));
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_EIO);
    ops_stage_pass(&stage, 10000);
    assert_null(stage.txn);
    ops_stage_close(&stage);
}

/* r[verify cluster.orders.store] */
static void a_pool_that_is_too_large_for_the_metastore_is_refused(void **state)
{
    static struct cluster_record_method methods[1024];
    static char signature[400];
    static uint8_t large[600000];
    struct cluster_record record = {.module = {.name = pool_records_text("counter"),
                                               .version = pool_records_text("1.0"),
                                               .machine = pool_records_text("x86_64"),
                                               .abi = 1,
                                               .size = 1,
                                               .digest = {POOL_RECORDS_DIGEST, 32},
                                               .methods = {.of = methods, .count = 1024}}};
    struct cluster_orders_order order;
    struct hub_writer writer;

    (void)state;
    memset(signature, 'a', sizeof signature);
    for (uint64_t i = 0; i < 1024; i++)
        methods[i] = (struct cluster_record_method){i + 1, {signature, sizeof signature}};
    hub_writer_init(&writer, large, sizeof large);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_MODULE, &record), 0);
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    order = ops_stage_spec(&stage, &kv);
    order.manifest = (struct rapahub_bytes){large, writer.size};
    assert_int_equal(ops_stage_order(&stage, &order), 0);
    ops_stage_ordered(&stage, RAPAHUB_EMSGSIZE, 1);
    assert_null(stage.txn);
    assert_null(cluster_pools_after(stage.context.pools, 0));
    ops_stage_close(&stage);
}

/* r[verify cluster.operation.bounds] */
static void the_oldest_operations_are_forgotten(void **state)
{
    const struct cluster_operation_arguments of = {UINT64_C(0x0000020000000000), 0, {"old", 3}};
    struct cluster_record_operation record = {.kind = CLUSTER_OPERATION_DELETE,
                                              .step = CLUSTER_OPERATION_DONE};
    struct hub_writer writer;
    uint8_t bytes[64];

    (void)state;
    ops_stage_open(&stage, &limits);
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_operation_put(&writer, &of), 0);
    record.arguments = (struct rapahub_bytes){bytes, writer.size};
    for (uint64_t i = 1; i <= CLUSTER_OPERATIONS_MAX; i++)
        assert_int_equal(cluster_ops_take_operation(stage.ops, i, i, &record), 0);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_null(stage.txn);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_write(&stage, CLUSTER_KEY_OPERATION, 0)->kind, CLUSTER_DELETE);
    ops_stage_commit(&stage);
    assert_null(ops_stage_operation(&stage, 1));
    assert_non_null(ops_stage_operation(&stage, 2));
    assert_non_null(ops_stage_operation(&stage, CLUSTER_OPERATIONS_MAX + 1));
    assert_null(stage.txn);
    ops_stage_close(&stage);
}

/* r[verify cluster.operation.resume] */
static void an_operation_goes_on_with_its_record(void **state)
{
    uint64_t pool;
    struct cluster_record record;
    static uint8_t bytes[100];
    const struct cluster_write *write;

    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    pool = ops_stage_pool(&stage, &kv);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    write = ops_stage_write(&stage, CLUSTER_KEY_OPERATION, 0);
    memcpy(bytes, write->value.data, write->value.size);
    assert_int_equal(cluster_record_read(CLUSTER_KEY_OPERATION,
                                         (struct rapahub_bytes){bytes, write->value.size}, &record),
                     0);
    ops_stage_close(&stage);
    ops_stage_open(&stage, &limits); /* another life: the pool has no entries any more */
    assert_int_equal(cluster_ops_take_operation(stage.ops, 2, 50, &record.operation), 0);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0).operation.step,
                     CLUSTER_OPERATION_DONE);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->pool, pool);
    ops_stage_close(&stage);
}

/* The metastore may have it: then the node that leads goes on with it.
 * r[verify cluster.lead.follow] */
static void orders_end_when_another_node_leads(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_non_null(stage.txn);
    cluster_ops_lead(stage.ops, 9, 70, true);
    ops_stage_step(&stage);
    ops_stage_ordered(&stage, RAPAHUB_EAGAIN, 1);
    assert_null(cluster_pools_after(stage.context.pools, 0));
    assert_null(ops_stage_operation(&stage, 1));
    ops_stage_end_txn(&stage, CLUSTER_TXN_OK, true); /* it comes to nothing here */
    ops_stage_pass(&stage, 10000);
    assert_null(stage.txn);
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_ESTATE);
    ops_stage_close(&stage);
}

/* What it knew of numbers of pools and of operations may be old: an order would be given one that
 * another pool has. r[verify cluster.orders.start] */
static void a_node_that_begins_to_lead_takes_orders_once_it_has_read_all(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    cluster_ops_lead(stage.ops, 9, 70, true);
    ops_stage_step(&stage);
    cluster_ops_lead(stage.ops, stage.context.node, 80, true);
    ops_stage_step(&stage);
    assert_int_equal(stage.catch_up.state, CLUSTER_CATCH_UP_OUTDATED);
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_EAGAIN);
    assert_int_equal(cluster_ops_take_death(stage.ops, 9, 5, true), RAPAHUB_EAGAIN);
    stage.catch_up.state = CLUSTER_CATCH_UP_READING;
    assert_int_equal(cluster_ops_take_next_pool(stage.ops, CLUSTER_POOL_MAJOR_LEAST + 7, 75), 0);
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_EAGAIN);
    cluster_catch_up_read_end(&stage.catch_up);
    cluster_ops_changed(stage.ops);
    ops_stage_step(&stage);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    assert_non_null(stage.txn);
    ops_stage_end_txn(&stage, CLUSTER_TXN_CONFLICT, false);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_its_start_a_node_takes_no_orders),
        cmocka_unit_test(an_order_for_which_there_is_no_space_has_done_nothing),
        cmocka_unit_test(an_order_that_the_metastore_does_not_take_ends),
        cmocka_unit_test(when_the_metastore_has_closed_all_orders_end),
        cmocka_unit_test(a_pool_that_is_too_large_for_the_metastore_is_refused),
        cmocka_unit_test(the_oldest_operations_are_forgotten),
        cmocka_unit_test(an_operation_goes_on_with_its_record),
        cmocka_unit_test(orders_end_when_another_node_leads),
        cmocka_unit_test(a_node_that_begins_to_lead_takes_orders_once_it_has_read_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
