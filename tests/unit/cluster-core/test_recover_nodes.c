/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster-core/recover_stage.h"

/* ---- where to ---- */

/* Brings what recovers to where it is active. */
static void let_begin(void)
{
    const struct cluster_lives *lives = cluster_ops_lives(stage.ops);
    uint32_t place = 0;
    struct cluster_life *life;

    while ((life = cluster_lives_after(lives, &place)))
        for (uint32_t i = 0; i < stage.out.count; i++)
            if (stage.out.effects[i].kind == CLUSTER_EFFECT_BEGIN &&
                stage.out.effects[i].container == life->container) {
                const struct cluster_lives_answer answer = {.id = stage.out.effects[i].id};

                assert_int_equal(cluster_ops_begun(stage.ops, &answer), 0);
            }
}

/* r[verify cluster.recover.bounds] */
static void so_many_recover_at_once_on_each_node(void **state)
{
    (void)state;
    open_pool(CONTAINERS, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RECOVER);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    assert_true(compares(CLUSTER_KEY_SESSION, OTHER, 70));
    ops_stage_commit(&stage);
    assert_int_equal(count_owned(STAGE_NODE), CLUSTER_RECOVER_NODE_MAX);
    assert_int_equal(count_owned(OTHER), CLUSTER_RECOVER_NODE_MAX);
    assert_null(stage.txn);
    let_begin();
    ops_stage_step(&stage);
    ops_stage_commit(&stage); /* those of node 1 are active, and so many more begin */
    assert_true(count_owned(STAGE_NODE) == CLUSTER_RECOVER_NODE_MAX);
    ops_stage_commit(&stage);
    assert_int_equal(count_owned(STAGE_NODE), 2 * CLUSTER_RECOVER_NODE_MAX);
    assert_int_equal(count_owned(OTHER), CLUSTER_RECOVER_NODE_MAX);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.plan] */
static void a_node_that_is_held_for_dead_or_drains_gets_none(void **state)
{
    (void)state;
    open_pool(4, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RECOVER);
    cluster_ops_hold_dead(stage.ops, OTHER, true);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    ops_stage_commit(&stage);
    assert_int_equal(count_owned(STAGE_NODE), 4);
    ops_stage_close(&stage);
    open_pool(4, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RECOVER);
    ops_stage_node(&stage, OTHER, 70, CLUSTER_NODE_DRAINING);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    ops_stage_commit(&stage);
    assert_int_equal(count_owned(OTHER), 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.again] */
static void a_second_death_takes_another_epoch(void **state)
{
    struct cluster_entry entry;

    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RECOVER);
    assert_int_equal(say_dead(DEAD, true), 0);
    entry = (struct cluster_entry){.state = CLUSTER_ENTRY_RECOVERING,
                                   .owner = OTHER,
                                   .session = 70,
                                   .epoch = 5,
                                   .lineage = cluster_ids_lineage(5, 0),
                                   .op = SESSION};
    ops_stage_commit(&stage);
    put_entries(1, &entry); /* it recovers on node 3 */
    cluster_ops_changed(stage.ops);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_FENCED);
    if (stage.txn)
        ops_stage_commit(&stage);
    assert_int_equal(cluster_ops_take_death(stage.ops, OTHER, 70, true), 0);
    ops_stage_step(&stage);
    ops_stage_commit(&stage);
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_FENCED);
    entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
    assert_int_equal(entry.state, CLUSTER_ENTRY_RECOVERING);
    assert_int_equal(entry.epoch, 6);
    assert_int_equal(entry.owner, STAGE_NODE);
    ops_stage_close(&stage);
}

/* ---- the next life of the node that leads ---- */

/* r[verify cluster.recover.resume] */
static void a_recovery_goes_on_from_its_record(void **state)
{
    const struct cluster_key key = {
        .kind = CLUSTER_KEY_RECOVERY, .node = DEAD, .revision = SESSION};
    struct cluster_recovery row = {
        .node = DEAD, .session = SESSION, .is = {CLUSTER_PROOF_WORD, true}};
    uint8_t arguments[CLUSTER_RECOVERIES_ARGUMENTS];
    struct cluster_record_operation record = cluster_recoveries_record(&row, arguments);

    (void)state;
    ops_stage_open(&stage, &limits);
    put_pool(1, CLUSTER_DURABILITY_CHECKPOINT, CLUSTER_DAEMON_RESTART);
    put_entries(1, &lost);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_FENCED);
    record.kind = CLUSTER_OPERATION_CREATE;
    assert_int_equal(cluster_ops_take_recovery(stage.ops, &key, 61, &record), RAPAHUB_EFORMAT);
    record.kind = CLUSTER_OPERATION_RECOVER;
    assert_int_equal(cluster_ops_take_recovery(stage.ops, &key, 61, &record), 0);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.owner, STAGE_NODE);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_recover_at_once_on_each_node),
        cmocka_unit_test(a_node_that_is_held_for_dead_or_drains_gets_none),
        cmocka_unit_test(a_second_death_takes_another_epoch),
        cmocka_unit_test(a_recovery_goes_on_from_its_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
