/* SPDX-License-Identifier: Apache-2.0 */
/* A node is to leave the cluster: it ends in order, what it has begins elsewhere, then it has left.
 */
#include "tests/unit/cluster-core/recover_stage.h"

static int order_leave(uint32_t node, bool discard)
{
    const struct cluster_orders_order order = {
        .kind = CLUSTER_ORDER_LEAVE, .number = ++stage.orders, .node = node, .discard = discard};

    return ops_stage_order(&stage, &order);
}

/* The transaction under way gives the node this state, and compares what its record was. */
static void commit_state(uint32_t node, uint8_t node_state)
{
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_NODE, 0).node.state, node_state);
    assert_null(ops_stage_write(&stage, CLUSTER_KEY_SESSION, 0));
    assert_true(compares(CLUSTER_KEY_SESSION, node, 0) == (node_state == CLUSTER_NODE_LEFT));
    ops_stage_commit(&stage);
}

/* It ends its session itself. */
static void end_in_order(uint32_t node)
{
    assert_null(stage.txn);
    ops_stage_node(&stage, node, 0, CLUSTER_NODE_DRAINING);
}

/* r[verify cluster.leave.order] r[verify cluster.leave.draining] r[verify cluster.leave.left] */
static void what_a_node_has_begins_elsewhere_once_it_has_ended(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(DEAD, false), 0);
    commit_state(DEAD, CLUSTER_NODE_DRAINING);
    assert_int_equal(entry_of(0).owner, DEAD);
    end_in_order(DEAD);
    ops_stage_commit(&stage); /* that its session is over */
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_RECOVERING);
    ops_stage_commit(&stage);
    assert_int_equal(count_owned(DEAD), 0);
    assert_true(deletes(CLUSTER_KEY_RECOVERY));
    ops_stage_commit(&stage);
    commit_state(DEAD, CLUSTER_NODE_LEFT);
    ops_stage_ordered(&stage, 0, DEAD);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_LEFT);
    assert_null(stage.txn);
    assert_int_equal(order_leave(DEAD, false), 0); /* it has left already */
    ops_stage_ordered(&stage, 0, 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.leave.left] */
static void a_node_that_has_nothing_leaves_too(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(OTHER, false), 0);
    commit_state(OTHER, CLUSTER_NODE_DRAINING);
    end_in_order(OTHER);
    commit_state(OTHER, CLUSTER_NODE_LEFT);
    ops_stage_ordered(&stage, 0, OTHER);
    ops_stage_close(&stage);
}

/* r[verify cluster.leave.draining] */
static void a_node_that_is_dead_already_leaves_at_once(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_FENCED);
    assert_int_equal(order_leave(OTHER, false), 0);
    commit_state(OTHER, CLUSTER_NODE_DRAINING);
    commit_state(OTHER, CLUSTER_NODE_LEFT);
    ops_stage_close(&stage);
}

/* It gets no containers, and a life of it that begins meanwhile leaves in its turn.
 * r[verify cluster.leave.draining] */
static void a_node_that_is_to_leave_gets_nothing(void **state)
{
    (void)state;
    open_pool(2, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(OTHER, false), 0);
    commit_state(OTHER, CLUSTER_NODE_DRAINING);
    ops_stage_node(&stage, OTHER, 70, CLUSTER_NODE_DRAINING);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    while (stage.txn)
        ops_stage_commit(&stage);
    assert_int_equal(count_owned(DEAD), 0);
    assert_int_equal(count_owned(OTHER), 0);
    end_in_order(OTHER);
    commit_state(OTHER, CLUSTER_NODE_LEFT);
    ops_stage_close(&stage);
}

/* r[verify cluster.leave.draining] */
static void a_node_that_dies_before_it_has_left_leaves(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(DEAD, false), 0);
    commit_state(DEAD, CLUSTER_NODE_DRAINING);
    ops_stage_node(&stage, DEAD, SESSION, CLUSTER_NODE_DRAINING);
    assert_int_equal(tell_death(SESSION, true), 0);
    assert_true(deletes(CLUSTER_KEY_SESSION));
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_NODE, 0).node.state,
                     CLUSTER_NODE_DRAINING);
    ops_stage_commit(&stage);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_DRAINING);
    while (count_owned(DEAD) > 0 || recovery())
        ops_stage_commit(&stage);
    commit_state(DEAD, CLUSTER_NODE_LEFT);
    ops_stage_ordered(&stage, 0, DEAD);
    ops_stage_close(&stage);
}

/* Another node leads before the order is in the metastore: it ends there. */
static void an_order_of_a_node_that_leads_no_more_is_forgotten(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(OTHER, false), 0);
    cluster_ops_lead(stage.ops, OTHER, 90, true);
    ops_stage_end_txn(&stage, CLUSTER_TXN_CONFLICT, false);
    cluster_ops_lead(stage.ops, 1, 91, true);
    put_entries(1, &lost);
    ops_stage_pass(&stage, 5000);
    assert_null(stage.txn);
    ops_stage_close(&stage);
}

static void refuses(int status, const char *text, uint32_t node, bool discard)
{
    assert_int_equal(order_leave(node, discard), status);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' does not say '%s'", rapahub_last_error()->text, text);
    assert_null(stage.txn);
}

/* r[verify cluster.leave.order] */
static void what_cannot_leave_is_told(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    refuses(RAPAHUB_EINVAL, "leads", 1, false);
    refuses(RAPAHUB_ENOENT, "no node 9", 9, false);
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_DRAINING);
    assert_int_equal(order_leave(OTHER, false), 0); /* goes on */
    commit_state(OTHER, CLUSTER_NODE_LEFT);
    ops_stage_close(&stage);
}

static void put_holders(uint32_t one, uint32_t other)
{
    uint32_t nodes[2] = {one, other};
    const struct cluster_record from = {
        .holders = {.nodes = {.of = nodes, .count = other != 0 ? 2 : 1}}};
    struct cluster_record read;
    uint8_t bytes[256];
    struct hub_writer writer;
    struct cluster_holders_put put = {.pool = POOL, .revision = 41, .record = &read.holders};

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_HOLD, &from), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_HOLD, (struct rapahub_bytes){bytes, writer.size}, &read),
        0);
    assert_int_equal(cluster_holders_put(stage.holders, &put), 0);
}

/* r[verify cluster.leave.kept] */
static void nothing_is_lost(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RESTART);
    put_holders(DEAD, 0);
    refuses(RAPAHUB_ENOCOPY, "--discard", DEAD, false);
    put_holders(DEAD, OTHER);
    assert_int_equal(order_leave(DEAD, false),
                     RAPAHUB_ENOCOPY); /* an older record changes nothing */
    ops_stage_close(&stage);

    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RESTART);
    put_holders(DEAD, OTHER);
    assert_int_equal(order_leave(DEAD, false), 0);
    commit_state(DEAD, CLUSTER_NODE_DRAINING);
    end_in_order(DEAD);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.lineage, lost.lineage);
    ops_stage_close(&stage);
}

/* r[verify cluster.leave.kept] */
static void what_only_its_disk_has_is_given_up_where_that_is_said(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_LOCAL, CLUSTER_DAEMON_RESTART);
    refuses(RAPAHUB_ENOCOPY, "container 0 of pool kv", DEAD, false);
    assert_int_equal(order_leave(DEAD, true), 0);
    commit_state(DEAD, CLUSTER_NODE_DRAINING);
    end_in_order(DEAD);
    assert_true(recovery()->is.discard);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_RECOVERING);
    ops_stage_close(&stage);
}

/* What only its disk has waits for it; a person gives that up later.
 * r[verify cluster.leave.kept] */
static void what_waits_for_a_node_that_has_ended_is_given_up_too(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_LOCAL, CLUSTER_DAEMON_RECOVER);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_ACTIVE);
    ops_stage_commit(&stage); /* that its session is over */
    assert_null(stage.txn);
    assert_int_equal(order_leave(DEAD, true), 0);
    while (count_owned(DEAD) > 0 || recovery()) {
        assert_non_null(stage.txn);
        ops_stage_commit(&stage);
        if (stage.txn && ops_stage_write(&stage, CLUSTER_KEY_NODE, 0))
            break;
    }
    while (stage.txn)
        ops_stage_commit(&stage);
    ops_stage_ordered(&stage, 0, DEAD);
    ops_stage_close(&stage);
}

/* r[verify cluster.leave.kept] */
static void a_node_keeps_what_no_other_may_have(void **state)
{
    struct cluster_entry entry = lost;

    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    ops_stage_node(&stage, OTHER, 70, CLUSTER_NODE_ACTIVE);
    entry.state = CLUSTER_ENTRY_QUARANTINED;
    entry.destination = entry.owner;
    entry.owner = 0;
    entry.session = 0;
    put_entries(1, &entry);
    refuses(RAPAHUB_ESTATE, "quarantined", DEAD, true);
    ops_stage_close(&stage);
}

/* A metastore that is full refuses the order, and the node stays. */
static void an_order_that_is_not_written_ends(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(OTHER, false), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_NO_SPACE, false);
    ops_stage_ordered(&stage, RAPAHUB_ENOSPC, OTHER);
    ops_stage_pass(&stage, 2000);
    assert_null(stage.txn);
    ops_stage_close(&stage);
}

/* r[verify cluster.leave.draining] */
static void a_pool_is_deleted_though_its_node_has_ended(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_LOCAL, CLUSTER_DAEMON_RESTART);
    assert_int_equal(order_leave(DEAD, true), 0);
    commit_state(DEAD, CLUSTER_NODE_DRAINING);
    assert_int_equal(ops_stage_ask(&stage, CLUSTER_ORDER_DELETE, "kv", 0), 0);
    ops_stage_commit(&stage);
    end_in_order(DEAD);
    ops_stage_commit(&stage);
    assert_null(cluster_address_map_find(stage.context.map, POOL, 0));
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_node_has_begins_elsewhere_once_it_has_ended),
        cmocka_unit_test(a_node_that_has_nothing_leaves_too),
        cmocka_unit_test(a_node_that_is_dead_already_leaves_at_once),
        cmocka_unit_test(a_node_that_is_to_leave_gets_nothing),
        cmocka_unit_test(a_node_that_dies_before_it_has_left_leaves),
        cmocka_unit_test(an_order_of_a_node_that_leads_no_more_is_forgotten),
        cmocka_unit_test(what_cannot_leave_is_told),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(what_only_its_disk_has_is_given_up_where_that_is_said),
        cmocka_unit_test(what_waits_for_a_node_that_has_ended_is_given_up_too),
        cmocka_unit_test(a_node_keeps_what_no_other_may_have),
        cmocka_unit_test(an_order_that_is_not_written_ends),
        cmocka_unit_test(a_pool_is_deleted_though_its_node_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
