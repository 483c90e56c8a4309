/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/recover.h"
#include "tests/unit/cluster-core/ops_stage.h"

#define POOL       UINT64_C(0x0000010000000000)
#define DEAD       2 /* the node that dies */
#define OTHER      3
#define SESSION    50 /* its session */
#define CONTAINERS 100

static struct ops_stage stage;
static const struct cluster_limits limits = {.pools = 8,
                                             .entries = 200,
                                             .containers = 200,
                                             .calls = 8,
                                             .payloads = 8,
                                             .effects = 600,
                                             .peers = 4};

static const struct cluster_entry lost = {.state = CLUSTER_ENTRY_ACTIVE,
                                          .owner = DEAD,
                                          .session = SESSION,
                                          .epoch = 4,
                                          .lineage =
                                              (UINT64_C(2) << 16) | 1}; /* life 1 of epoch 2 */

/* ---- the stage ---- */

/* Brings entries of the dead node into the map. */
static void put_entries(uint32_t count, const struct cluster_entry *entry)
{
    stage.catch_up.state = CLUSTER_CATCH_UP_READING;
    stage.catch_up.target = 60;
    for (uint32_t c = 0; c < count; c++)
        assert_int_equal(cluster_catch_up_entry(&stage.catch_up, POOL, c, 60, entry), 0);
    cluster_catch_up_read_end(&stage.catch_up);
}

static void put_pool(uint32_t containers, uint8_t durability, uint8_t on_daemon_death)
{
    bool copied = durability >= CLUSTER_DURABILITY_CHECKPOINT;
    struct ops_stage_pool kv = {.name = "kv", .containers = containers, .durability = durability};
    struct cluster_orders_order order = ops_stage_spec(&stage, &kv);
    struct cluster_record_pool record;
    struct cluster_pool_spec spec;
    uint8_t bytes[512];
    struct hub_writer writer;

    assert_int_equal(cluster_pool_spec_read(order.spec, &spec), 0);
    spec.on_daemon_death = on_daemon_death;
    spec.copies = spec.min_copies = copied;
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_pool_spec_put(&writer, &spec), 0);
    record = (struct cluster_record_pool){.state = CLUSTER_POOL_ACTIVE,
                                          .containers = containers,
                                          .slots_count = cluster_pool_new_slots(containers).count,
                                          .digest = order.digest,
                                          .spec = {bytes, writer.size},
                                          .manifest = order.manifest};
    assert_int_equal(cluster_pools_put(stage.context.pools, POOL, 40, &record), 0);
}

/* Nodes 1, which leads, 2, which owns all containers, and, if it is there, 3. */
static void open_pool(uint32_t containers, uint8_t durability, uint8_t on_daemon_death)
{
    ops_stage_open(&stage, &limits);
    put_pool(containers, durability, on_daemon_death);
    put_entries(containers, &lost);
    ops_stage_node(&stage, DEAD, SESSION, CLUSTER_NODE_ACTIVE);
    ops_stage_node(&stage, OTHER, 70, CLUSTER_NODE_ACTIVE);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_null(stage.txn);
}

static int tell_death(uint64_t session, bool final)
{
    int status = cluster_ops_take_death(stage.ops, DEAD, session, final);

    ops_stage_step(&stage);
    return status;
}

static int say_dead(uint32_t node, bool discard)
{
    const struct cluster_orders_order order = {
        .kind = CLUSTER_ORDER_DEAD, .number = ++stage.orders, .node = node, .discard = discard};

    return ops_stage_order(&stage, &order);
}

static bool deletes(enum cluster_keys_kind kind)
{
    const struct cluster_write *write = ops_stage_write(&stage, kind, 0);

    return write && write->kind == CLUSTER_DELETE;
}

/* Says whether the transaction that is under way compares this key with this last put. */
static bool compares(enum cluster_keys_kind kind, uint32_t node, uint64_t rev)
{
    struct cluster_key key;

    for (uint32_t i = 0; stage.txn && i < stage.txn->txn->compares_count; i++) {
        const struct cluster_compare *compare = &stage.txn->txn->compares[i];

        assert_int_equal(cluster_keys_parse(compare->key, &key), 0);
        if (key.kind == kind && key.node == node &&
            (rev == 0 ? compare->kind == CLUSTER_ABSENT : compare->rev == rev))
            return true;
    }
    return false;
}

/* The transaction under way fences the dead node; its effect comes to be known. */
static void is_fenced(void)
{
    assert_true(deletes(CLUSTER_KEY_SESSION));
    assert_true(compares(CLUSTER_KEY_SESSION, DEAD, SESSION));
    assert_true(compares(CLUSTER_KEY_NODE, DEAD, STAGE_NODE_RECORD));
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_NODE, 0).node.state, CLUSTER_NODE_FENCED);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_RECOVERY, 0).operation.kind,
                     CLUSTER_OPERATION_RECOVER);
    ops_stage_commit(&stage);
    ops_stage_node(&stage, DEAD, 0, CLUSTER_NODE_FENCED);
}

static uint32_t count_owned(uint32_t node)
{
    const struct cluster_address *address;
    uint32_t place = 0, count = 0;

    while ((address = cluster_address_map_after(stage.context.map, &place)))
        count += address->entry.owner == node;
    return count;
}

static struct cluster_entry entry_of(uint32_t container)
{
    const struct cluster_address *address =
        cluster_address_map_find(stage.context.map, POOL, container);

    assert_non_null(address);
    return address->entry;
}

static const struct cluster_recovery *recovery(void)
{
    return cluster_recoveries_find(cluster_ops_recoveries(stage.ops), DEAD);
}

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
        cmocka_unit_test(containers_of_a_fenced_node_begin_in_the_next_epoch),
        cmocka_unit_test(a_death_of_another_session_is_refused),
        cmocka_unit_test(a_node_that_does_not_lead_takes_no_death),
        cmocka_unit_test(a_pool_waits_as_its_proof_says),
        cmocka_unit_test(a_node_that_ended_in_order_is_not_fenced),
        cmocka_unit_test(a_death_that_comes_too_late_is_forgotten),
        cmocka_unit_test(what_only_its_disk_has_waits_until_it_is_given_up),
        cmocka_unit_test(a_node_that_is_back_has_its_containers_again),
        cmocka_unit_test(an_order_ends_when_it_is_durable),
        cmocka_unit_test(an_order_that_cannot_be_written_is_given_up),
        cmocka_unit_test(so_many_recover_at_once_on_each_node),
        cmocka_unit_test(a_node_that_is_held_for_dead_or_drains_gets_none),
        cmocka_unit_test(a_second_death_takes_another_epoch),
        cmocka_unit_test(a_recovery_goes_on_from_its_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
