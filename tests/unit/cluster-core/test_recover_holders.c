/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of a dead node whose copies other nodes keep: they begin with the newest of these. */
#include "tests/unit/cluster-core/recover_stage.h"

/* The record of the holders of a container names these nodes. */
static void name(uint32_t container, uint32_t one, uint32_t other)
{
    uint32_t nodes[2] = {one, other};
    const struct cluster_record_holders record = {
        .nodes = {.of = nodes, .count = other != 0 ? 2 : 1}};
    const struct cluster_record from = {.holders = record};
    struct cluster_record read;
    uint8_t bytes[256];
    struct hub_writer writer;
    struct cluster_holders_put put = {
        .pool = POOL, .revision = 41, .container = container, .record = &read.holders};

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_HOLD, &from), 0);
    assert_int_equal(
        cluster_record_read(CLUSTER_KEY_HOLD, (struct rapahub_bytes){bytes, writer.size}, &read),
        0);
    assert_int_equal(cluster_holders_put(stage.holders, &put), 0);
}

static void open_named(uint8_t durability, uint32_t one, uint32_t other)
{
    open_pool(1, durability, CLUSTER_DAEMON_RECOVER);
    name(0, one, other);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
}

/* The history of calls goes on: no call that was answered runs again.
 * r[verify cluster.recover.holders] */
static void a_container_begins_where_its_copy_is(void **state)
{
    struct cluster_entry entry;

    (void)state;
    open_named(CLUSTER_DURABILITY_ACKED, DEAD, OTHER);
    entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
    assert_int_equal(entry.state, CLUSTER_ENTRY_RECOVERING);
    assert_int_equal(entry.owner, OTHER);
    assert_int_equal(entry.epoch, 5);
    assert_int_equal(entry.lineage, lost.lineage);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.holders] */
static void a_state_that_may_be_older_begins_another_history(void **state)
{
    (void)state;
    open_named(CLUSTER_DURABILITY_CHECKPOINT, DEAD, OTHER);
    assert_int_equal(entry_of(0).owner, DEAD);
    ops_stage_commit(&stage);
    assert_int_equal(entry_of(0).owner, OTHER);
    assert_int_equal(entry_of(0).lineage, cluster_ids_lineage(5, 0));
    ops_stage_close(&stage);
}

/* It loads what it fetches. r[verify cluster.recover.copy] */
static void a_node_without_a_copy_begins_it_with_one(void **state)
{
    const struct cluster_effect *begin;

    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RECOVER);
    name(0, DEAD, OTHER);
    ops_stage_node(&stage, OTHER, 70, CLUSTER_NODE_DRAINING); /* it gets none, but answers */
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.owner, STAGE_NODE);
    ops_stage_commit(&stage);
    begin = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
    assert_int_equal(begin->how, CLUSTER_BEGIN_RECOVER);
    assert_true(begin->copy);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.local] r[verify cluster.recover.holders] */
static void it_waits_while_no_holder_can_answer(void **state)
{
    static const uint32_t others[] = {0, OTHER};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RECOVER);
        name(0, DEAD, others[i]);
        ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_FENCED); /* that one is dead too */
        assert_int_equal(tell_death(SESSION, true), 0);
        is_fenced();
        ops_stage_pass(&stage, 100000);
        assert_int_equal(recovery()->waiting, 1);
        assert_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 0));
        ops_stage_node(&stage, OTHER, 75, CLUSTER_NODE_ACTIVE); /* and is back */
        if (others[i] == OTHER)
            assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.owner, OTHER);
        else
            assert_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 0));
        ops_stage_close(&stage);
    }
}

/* A person need not give up what another node has. */
static void a_copy_is_used_also_where_a_person_gives_up(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RECOVER);
    name(0, DEAD, OTHER);
    assert_int_equal(say_dead(DEAD, true), 0);
    is_fenced();
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.lineage, lost.lineage);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_begins_where_its_copy_is),
        cmocka_unit_test(a_state_that_may_be_older_begins_another_history),
        cmocka_unit_test(a_node_without_a_copy_begins_it_with_one),
        cmocka_unit_test(it_waits_while_no_holder_can_answer),
        cmocka_unit_test(a_copy_is_used_also_where_a_person_gives_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
