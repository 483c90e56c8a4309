/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster-core/recover_stage.h"

/* ---- proofs ---- */

/* r[verify cluster.session.fencer] r[verify cluster.recover.plan] */
static void containers_of_a_fenced_node_begin_in_the_next_epoch(void **state)
{
    const struct cluster_effect *begin;
    struct cluster_entry entry;

    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_LEFT);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
    assert_int_equal(entry.state, CLUSTER_ENTRY_RECOVERING);
    assert_int_equal(entry.owner, STAGE_NODE);
    assert_int_equal(entry.session, STAGE_SESSION);
    assert_int_equal(entry.epoch, 5);
    assert_int_equal(entry.lineage, cluster_ids_lineage(5, 0));
    ops_stage_commit(&stage);
    begin = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
    assert_int_equal(begin->how, CLUSTER_BEGIN_RECOVER);
    assert_int_equal(cluster_ids_epoch(begin->token), 5);
    ops_stage_commit(&stage); /* none is left: its record goes */
    assert_null(recovery());
    ops_stage_end_begin(&stage, begin->id, 0);
    ops_stage_commit(&stage);
    assert_int_equal(entry_of(0).state, CLUSTER_ENTRY_ACTIVE);
    assert_int_equal(entry_of(0).op, 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.death.session] */
static void a_death_of_another_session_is_refused(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(tell_death(SESSION - 1, true), RAPAHUB_ESTALE);
    assert_int_equal(tell_death(SESSION + 1, true), RAPAHUB_ESTALE);
    assert_int_equal(tell_death(0, true), RAPAHUB_ESTALE);
    assert_int_equal(cluster_ops_take_death(stage.ops, 9, SESSION, true), RAPAHUB_ENOENT);
    assert_int_equal(cluster_ops_take_death(stage.ops, STAGE_NODE, STAGE_SESSION, true),
                     RAPAHUB_ESTALE);
    assert_null(stage.txn);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    assert_int_equal(tell_death(SESSION, true), 0); /* the same again */
    ops_stage_close(&stage);
}

/* r[verify cluster.death.session] */
static void a_node_that_does_not_lead_takes_no_death(void **state)
{
    (void)state;
    ops_stage_open(&stage, &limits);
    assert_int_equal(cluster_ops_take_death(stage.ops, DEAD, SESSION, true), RAPAHUB_EAGAIN);
    ops_stage_follow(&stage, 9);
    assert_int_equal(cluster_ops_take_death(stage.ops, DEAD, SESSION, true), RAPAHUB_EAGAIN);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.grace] */
static void a_pool_waits_as_its_proof_says(void **state)
{
    static const struct {
        uint8_t proof, on_daemon_death;
        uint64_t started_ms, wait_ms; /* since the start; after the proof */
    } rows[] = {
        {CLUSTER_PROOF_WORD, CLUSTER_DAEMON_RESTART, 1, 0},
        {CLUSTER_PROOF_FINAL, CLUSTER_DAEMON_RESTART, 1, 0},
        {CLUSTER_PROOF_RESTARTING, CLUSTER_DAEMON_RECOVER, 1, 0},
        {CLUSTER_PROOF_RESTARTING, CLUSTER_DAEMON_RESTART, 1, 2000},
        {CLUSTER_PROOF_ENDED, CLUSTER_DAEMON_RECOVER, 60000, 0},
        {CLUSTER_PROOF_ENDED, CLUSTER_DAEMON_RESTART, 60000, 60000},
        {CLUSTER_PROOF_ENDED, CLUSTER_DAEMON_RECOVER, 1000, 59000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_pool(1, CLUSTER_DURABILITY_NONE, rows[i].on_daemon_death);
        ops_stage_pass(&stage, rows[i].started_ms);
        if (rows[i].proof == CLUSTER_PROOF_WORD)
            assert_int_equal(say_dead(DEAD, false), 0);
        else if (rows[i].proof == CLUSTER_PROOF_ENDED)
            ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_ACTIVE);
        else
            assert_int_equal(tell_death(SESSION, rows[i].proof == CLUSTER_PROOF_FINAL), 0);
        assert_null(ops_stage_write(&stage, CLUSTER_KEY_ENTRY, 0));
        ops_stage_commit(&stage);
        ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_ACTIVE);
        if (rows[i].wait_ms > 0) {
            ops_stage_pass(&stage, rows[i].wait_ms - 1);
            assert_null(stage.txn);
            assert_true(cluster_ops_next(stage.ops) <= stage.now + STAGE_MS);
            ops_stage_pass(&stage, 1);
        }
        assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                         CLUSTER_ENTRY_RECOVERING);
        ops_stage_close(&stage);
    }
}

/* r[verify cluster.recover.ended] */
static void a_node_that_ended_in_order_is_not_fenced(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_ACTIVE);
    assert_true(compares(CLUSTER_KEY_SESSION, DEAD, 0));
    assert_null(ops_stage_write(&stage, CLUSTER_KEY_SESSION, 0));
    assert_null(ops_stage_write(&stage, CLUSTER_KEY_NODE, 0));
    ops_stage_commit(&stage);
    ops_stage_node(&stage, DEAD, SESSION + 30, CLUSTER_NODE_ACTIVE); /* it is back */
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_RESTARTING);
    ops_stage_commit(&stage);
    assert_true(deletes(CLUSTER_KEY_RECOVERY));
    ops_stage_commit(&stage);
    assert_null(recovery());
    ops_stage_close(&stage);
}

/* It ended its session itself, and began another one, before the death was heard. */
static void a_death_that_comes_too_late_is_forgotten(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(tell_death(SESSION, false), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_CONFLICT, false);
    put_entries(1, &lost);
    ops_stage_node(&stage, DEAD, SESSION + 30, CLUSTER_NODE_ACTIVE);
    ops_stage_pass(&stage, 1000);
    assert_null(recovery());
    ops_stage_pass(&stage, 1);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_RESTARTING);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.proof] */
static void a_better_proof_takes_the_place_of_a_worse_one(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_NONE, CLUSTER_DAEMON_RESTART);
    assert_int_equal(tell_death(SESSION, false), 0);
    is_fenced();
    assert_null(stage.txn); /* the next life may come in time */
    assert_int_equal(tell_death(SESSION, true), 0);
    ops_stage_commit(&stage); /* the entry */
    assert_int_equal(entry_of(0).state, CLUSTER_ENTRY_RECOVERING);
    ops_stage_close(&stage);
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RESTART);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    assert_int_equal(tell_death(SESSION, false), 0);
    assert_null(stage.txn); /* no worse one does */
    assert_int_equal(recovery()->is.proof, CLUSTER_PROOF_FINAL);
    assert_int_equal(say_dead(DEAD, false), 0);
    assert_non_null(ops_stage_write(&stage, CLUSTER_KEY_RECOVERY, 0));
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 0);
    ops_stage_commit(&stage);
    assert_int_equal(recovery()->stored.proof, CLUSTER_PROOF_WORD);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 1);
    ops_stage_close(&stage);
}

/* The session after is over before the record of the one before was written. */
static void a_later_session_takes_the_place_of_an_earlier_one(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RESTART);
    assert_int_equal(tell_death(SESSION, true), 0);
    ops_stage_node(&stage, DEAD, SESSION + 30, CLUSTER_NODE_ACTIVE);
    assert_int_equal(tell_death(SESSION + 30, true), 0);
    ops_stage_commit(&stage); /* the record of the first */
    assert_int_equal(recovery()->session, SESSION + 30);
    assert_true(compares(CLUSTER_KEY_SESSION, DEAD, SESSION + 30));
    ops_stage_commit(&stage); /* takes its place */
    assert_int_equal(recovery()->before, 0);
    assert_true(cluster_recoveries_is_stored(recovery()));
    ops_stage_close(&stage);
}

/* ---- what was kept ---- */

/* r[verify cluster.recover.local] r[verify cluster.recover.copy] */
static void what_only_its_disk_has_waits_until_it_is_given_up(void **state)
{
    static const uint8_t kept[] = {CLUSTER_DURABILITY_LOCAL, CLUSTER_DURABILITY_CHECKPOINT,
                                   CLUSTER_DURABILITY_ACKED};

    (void)state;
    for (size_t i = 0; i < sizeof kept; i++) {
        const struct cluster_effect *begin;

        open_pool(1, kept[i], CLUSTER_DAEMON_RECOVER);
        ops_stage_node(&stage, OTHER, 0, CLUSTER_NODE_LEFT);
        assert_int_equal(tell_death(SESSION, true), 0);
        is_fenced();
        ops_stage_pass(&stage, 100000);
        assert_null(stage.txn);
        assert_int_equal(recovery()->waiting, 1);
        assert_int_equal(say_dead(DEAD, true), 0);
        ops_stage_commit(&stage); /* the entry */
        assert_int_equal(entry_of(0).lineage, cluster_ids_lineage(5, 0));
        begin = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
        assert_int_equal(begin->how, CLUSTER_BEGIN_RECOVER);
        assert_false(begin->copy); /* what this disk may have of it is older */
        ops_stage_close(&stage);
    }
}

/* r[verify cluster.recover.local] */
static void a_node_that_is_back_has_its_containers_again(void **state)
{
    struct cluster_entry entry;

    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RECOVER);
    assert_int_equal(tell_death(SESSION, true), 0);
    is_fenced();
    ops_stage_node(&stage, DEAD, SESSION + 30, CLUSTER_NODE_ACTIVE);
    entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
    assert_int_equal(entry.state, CLUSTER_ENTRY_RESTARTING);
    assert_int_equal(entry.owner, DEAD);
    assert_int_equal(entry.session, SESSION + 30);
    assert_int_equal(entry.epoch, 5);
    assert_int_equal(entry.lineage, cluster_ids_lineage(2, 1)); /* its history goes on */
    ops_stage_close(&stage);
}

/* ---- the word of a person ---- */

/* r[verify cluster.recover.word] */
static void an_order_ends_when_it_is_durable(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RESTART);
    assert_int_equal(say_dead(STAGE_NODE, false), RAPAHUB_EINVAL);
    assert_int_equal(say_dead(9, false), RAPAHUB_ENOENT);
    assert_int_equal(say_dead(DEAD, false), 0);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 0);
    assert_true(deletes(CLUSTER_KEY_SESSION));
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 1)->status, 0);
    assert_int_equal(cluster_ops_orders(stage.ops), 0);
    assert_int_equal(say_dead(DEAD, false), 0); /* it is so already */
    assert_int_equal(ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 1)->status, 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.recover.word] */
static void an_order_that_cannot_be_written_is_given_up(void **state)
{
    (void)state;
    open_pool(1, CLUSTER_DURABILITY_ACKED, CLUSTER_DAEMON_RESTART);
    assert_int_equal(say_dead(DEAD, false), 0);
    ops_stage_end_txn(&stage, CLUSTER_TXN_NO_SPACE, false);
    assert_int_equal(ops_stage_effect(&stage, CLUSTER_EFFECT_ORDERED, 1)->status, RAPAHUB_ENOSPC);
    assert_null(recovery());
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_of_a_fenced_node_begin_in_the_next_epoch),
        cmocka_unit_test(a_death_of_another_session_is_refused),
        cmocka_unit_test(a_node_that_does_not_lead_takes_no_death),
        cmocka_unit_test(a_pool_waits_as_its_proof_says),
        cmocka_unit_test(a_node_that_ended_in_order_is_not_fenced),
        cmocka_unit_test(a_death_that_comes_too_late_is_forgotten),
        cmocka_unit_test(a_better_proof_takes_the_place_of_a_worse_one),
        cmocka_unit_test(a_later_session_takes_the_place_of_an_earlier_one),
        cmocka_unit_test(what_only_its_disk_has_waits_until_it_is_given_up),
        cmocka_unit_test(a_node_that_is_back_has_its_containers_again),
        cmocka_unit_test(an_order_ends_when_it_is_durable),
        cmocka_unit_test(an_order_that_cannot_be_written_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
