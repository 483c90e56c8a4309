/* SPDX-License-Identifier: Apache-2.0 */
/* A node that leads: containers of another node, and what that tells of them. */
#include "cluster/core/ops/owners.h"
#include "tests/unit/cluster-core/ops_stage.h"

#define POOL    UINT64_C(0x0000010000000000)
#define OTHER   2
#define SESSION UINT64_C(200)

static struct ops_stage stage;
static const struct cluster_limits limits = {.pools = 8,
                                             .entries = 8000,
                                             .containers = 8000,
                                             .calls = 8,
                                             .payloads = 8,
                                             .effects = 600,
                                             .peers = 4};
static const struct ops_stage_pool kv = {.name = "kv", .containers = 1, .only = OTHER};

static int tell(uint32_t node, uint64_t session, const struct cluster_body_step_done *done)
{
    int status;

    cluster_ops_set_time(stage.ops, stage.now);
    status = cluster_ops_take_report(stage.ops, node, session, done);
    ops_stage_step(&stage);
    return status;
}

/* The other node tells a step of its container, in this epoch. */
static int tell_step(uint8_t step, uint64_t epoch, int32_t status)
{
    const struct cluster_body_step_done done = {
        .pool = POOL,
        .epoch = epoch,
        .step = step,
        .status = status,
        .text = {"it does not like it", status < 0 ? 19 : 0}};

    return tell(OTHER, SESSION, &done);
}

/* Up to where the entry of the pool's container is of the other node, and it may begin there. */
static void open_with_entry(void)
{
    struct cluster_entry entry;

    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    ops_stage_node(&stage, OTHER, SESSION, CLUSTER_NODE_ACTIVE);
    assert_int_equal(ops_stage_apply(&stage, &kv), 0);
    entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
    assert_int_equal(entry.owner, OTHER);
    assert_int_equal(entry.session, SESSION);
    ops_stage_commit(&stage);
    assert_null(stage.txn);
}

static void open_with_pool(void)
{
    open_with_entry();
    assert_int_equal(tell_step(CLUSTER_STEP_BEGUN, 1, 0), 0);
    ops_stage_commit(&stage); /* the entry is active */
    ops_stage_commit(&stage); /* and the pool is */
    assert_int_equal(ops_stage_state(&stage, POOL, 0), CLUSTER_ENTRY_ACTIVE);
    assert_int_equal(ops_stage_operation(&stage, 1)->state, CLUSTER_OPERATION_DONE);
}

static struct cluster_entry written(uint8_t entry_state, uint64_t epoch)
{
    struct cluster_entry entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;

    assert_int_equal(entry.state, entry_state);
    assert_int_equal(entry.epoch, epoch);
    return entry;
}

/* r[verify cluster.step.checked] */
static void what_is_not_of_the_entry_is_refused(void **state)
{
    const struct cluster_body_step_done right = {
        .pool = POOL, .epoch = 1, .step = CLUSTER_STEP_BEGUN};
    struct cluster_body_step_done wrong[] = {right, right, right, right, right};

    (void)state;
    open_with_entry();
    ops_stage_node(&stage, 3, SESSION, CLUSTER_NODE_ACTIVE);
    wrong[0].epoch = 2;
    wrong[1].pool = POOL + 1;
    wrong[2].container = 1;
    wrong[3].step = CLUSTER_STEP_DOWN;    /* it was not active */
    wrong[4].step = CLUSTER_STEP_REMOVED; /* its pool is not being removed */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tell(OTHER, SESSION, &wrong[i]), RAPAHUB_ESTALE);
    assert_int_equal(tell(OTHER, SESSION - 1, &right), RAPAHUB_ESTALE);
    assert_int_equal(tell(OTHER, 0, &right), RAPAHUB_ESTALE);
    assert_int_equal(tell(3, SESSION, &right), RAPAHUB_ESTALE);
    assert_int_equal(tell(STAGE_NODE, STAGE_SESSION, &right), RAPAHUB_ESTALE);
    assert_null(stage.txn);
    assert_int_equal(tell(OTHER, SESSION, &right), 0);
    (void)written(CLUSTER_ENTRY_ACTIVE, 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.step.checked] */
static void what_was_so_once_is_of_no_use_later(void **state)
{
    (void)state;
    open_with_entry();
    assert_int_equal(tell_step(CLUSTER_STEP_SPENT, 1, 0), 0);
    (void)written(CLUSTER_ENTRY_STARTING, 2);
    assert_int_equal(tell_step(CLUSTER_STEP_BEGUN, 1, 0), 0); /* it is on its way */
    ops_stage_commit(&stage);
    assert_null(stage.txn);
    ops_stage_node(&stage, OTHER, SESSION + 1, CLUSTER_NODE_ACTIVE);
    assert_int_equal(written(CLUSTER_ENTRY_STARTING, 3).session, SESSION + 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.create.whole] */
static void a_pool_goes_whose_container_refuses_elsewhere(void **state)
{
    (void)state;
    open_with_entry();
    assert_int_equal(tell_step(CLUSTER_STEP_FAILED, 1, RAPAHUB_EINVAL), 0);
    ops_stage_commit(&stage); /* it is undone */
    assert_null(stage.txn);
    assert_int_equal(tell_step(CLUSTER_STEP_REMOVED, 1, 0), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_state(&stage, POOL, 0), CLUSTER_ENTRY_NONE);
    assert_int_equal(ops_stage_operation(&stage, 1)->result, RAPAHUB_EINVAL);
    assert_string_equal(ops_stage_operation(&stage, 1)->text, "it does not like it");
    ops_stage_close(&stage);
}

/* r[verify cluster.restart.epoch] */
static void a_node_that_comes_back_gets_the_next_epoch_in_its_session(void **state)
{
    struct cluster_entry entry;

    (void)state;
    open_with_pool();
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_ACTIVE);
    assert_non_null(ops_stage_write(&stage, CLUSTER_KEY_RECOVERY, 0));
    assert_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 0)); /* nothing moves */
    ops_stage_commit(&stage);
    ops_stage_node(&stage, OTHER, SESSION + 5, CLUSTER_NODE_ACTIVE);
    entry = written(CLUSTER_ENTRY_RESTARTING, 2);
    assert_int_equal(entry.owner, OTHER);
    assert_int_equal(entry.session, SESSION + 5);
    ops_stage_close(&stage);
}

/* Up to where the container is quarantined, in epoch 3. */
static void quarantine_it(void)
{
    open_with_pool();
    assert_int_equal(tell_step(CLUSTER_STEP_DOWN, 1, RAPAHUB_EDIED), 0);
    (void)written(CLUSTER_ENTRY_RESTARTING, 2);
    ops_stage_commit(&stage);
    assert_int_equal(tell_step(CLUSTER_STEP_FAILED, 2, RAPAHUB_EDIED), 0);
    assert_int_equal(written(CLUSTER_ENTRY_QUARANTINED, 3).destination, OTHER);
    ops_stage_commit(&stage);
}

/* r[verify cluster.release.container] r[verify cluster.restart.quarantine] */
static void one_that_is_released_begins_where_it_was(void **state)
{
    struct cluster_entry entry;

    (void)state;
    quarantine_it();
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_ACTIVE);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), RAPAHUB_EAGAIN);
    assert_non_null(strstr(rapahub_last_error()->text, "node 2"));
    ops_stage_node(&stage, OTHER, SESSION, CLUSTER_NODE_ACTIVE);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_RELEASE, "kv", 0), 0);
    entry = written(CLUSTER_ENTRY_RECOVERING, 4);
    assert_int_equal(entry.owner, OTHER);
    assert_int_equal(entry.session, SESSION);
    ops_stage_commit(&stage);
    assert_int_equal(tell_step(CLUSTER_STEP_FAILED, 4, RAPAHUB_ENOMEM), 0);
    ops_stage_commit(&stage); /* it is quarantined again */
    ops_stage_commit(&stage); /* and the release has failed */
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_ABORTED);
    assert_int_equal(ops_stage_operation(&stage, 2)->result, RAPAHUB_ENOMEM);
    ops_stage_close(&stage);
}

/* r[verify cluster.delete.all] */
static void a_pool_waits_for_what_another_node_removes(void **state)
{
    (void)state;
    quarantine_it();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    ops_stage_pass(&stage, 100000);
    assert_null(stage.txn);
    assert_int_equal(tell_step(CLUSTER_STEP_REMOVED, 3, RAPAHUB_EIO), 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_operation(&stage, 2)->state, CLUSTER_OPERATION_DONE);
    assert_string_equal(ops_stage_operation(&stage, 2)->text, "it does not like it");
    ops_stage_close(&stage);
}

/* r[verify cluster.delete.all] */
static void a_pool_does_not_wait_for_a_node_that_has_left(void **state)
{
    (void)state;
    open_with_pool();
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    assert_null(stage.txn);
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_LEFT);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_state(&stage, POOL, 0), CLUSTER_ENTRY_NONE);
    ops_stage_close(&stage);
}

/* r[verify cluster.lead.term] */
static void what_it_writes_compares_who_leads(void **state)
{
    const struct cluster_ops_start start = {
        .session = STAGE_SESSION, .boot = 1, .lead = STAGE_NODE, .term = 77};
    const struct ops_stage_pool own = {.name = "kv", .containers = 1};
    struct cluster_key key;
    uint32_t found = 0;

    (void)state;
    ops_stage_open(&stage, &limits);
    assert_int_equal(cluster_ops_start(stage.ops, &start), 0);
    assert_int_equal(ops_stage_apply(&stage, &own), 0);
    for (uint32_t i = 0; i < stage.txn->txn->compares_count; i++) {
        const struct cluster_compare *compare = &stage.txn->txn->compares[i];

        assert_int_equal(cluster_keys_parse(compare->key, &key), 0);
        found +=
            key.kind == CLUSTER_KEY_LEAD && compare->kind == CLUSTER_MOD_EQ && compare->rev == 77;
    }
    assert_int_equal(found, 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.step.bounds] */
static void so_many_reports_are_kept_and_no_more(void **state)
{
    static const struct cluster_entry entry = {.state = CLUSTER_ENTRY_RESTARTING,
                                               .owner = OTHER,
                                               .session = SESSION,
                                               .epoch = 1,
                                               .lineage = UINT64_C(1) << 16};
    struct cluster_body_step_done done = {.pool = POOL, .epoch = 1, .step = CLUSTER_STEP_BEGUN};
    struct cluster_context context;
    struct cluster_owners *owners;

    (void)state;
    open_with_pool();
    context = stage.context;
    context.lead = STAGE_NODE;
    assert_int_equal(cluster_nodes_create(STAGE_NODE, 1, &context.nodes), 0);
    assert_int_equal(cluster_nodes_put(context.nodes, OTHER, SESSION,
                                       &(struct cluster_record_node){.state = CLUSTER_NODE_ACTIVE}),
                     0);
    assert_int_equal(cluster_owners_create(1, &owners), 0);
    for (uint32_t c = 0; c < CLUSTER_OWNERS_MAX + 1; c++) {
        cluster_address_map_add(context.map, POOL, c)->entry = entry;
        done.container = c;
        assert_int_equal(cluster_owners_take(owners, &context, OTHER, SESSION, &done),
                         c < CLUSTER_OWNERS_MAX ? 0 : RAPAHUB_EFULL);
    }
    cluster_address_map_find(context.map, POOL, 7)->entry.epoch = 2;
    cluster_owners_sweep(owners, &context);
    assert_int_equal(cluster_owners_take(owners, &context, OTHER, SESSION, &done), 0);
    cluster_owners_release(&owners);
    cluster_nodes_release(&context.nodes);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_of_the_entry_is_refused),
        cmocka_unit_test(what_was_so_once_is_of_no_use_later),
        cmocka_unit_test(a_pool_goes_whose_container_refuses_elsewhere),
        cmocka_unit_test(a_node_that_comes_back_gets_the_next_epoch_in_its_session),
        cmocka_unit_test(one_that_is_released_begins_where_it_was),
        cmocka_unit_test(a_pool_waits_for_what_another_node_removes),
        cmocka_unit_test(a_pool_does_not_wait_for_a_node_that_has_left),
        cmocka_unit_test(what_it_writes_compares_who_leads),
        cmocka_unit_test(so_many_reports_are_kept_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
