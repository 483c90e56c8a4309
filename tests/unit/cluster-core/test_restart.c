/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/restart.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
#define POOL UINT64_C(0x0000010000000000)

/* Brings an entry of session 50 into the map, of a pool with this durability. */
static void put_entry(uint32_t container, uint8_t entry_state)
{
    const struct cluster_entry entry = {.state = entry_state,
                                        .owner = STAGE_NODE,
                                        .session = 50,
                                        .epoch = 4,
                                        .lineage = cluster_ids_lineage(2, 1)};

    stage.catch_up.state = CLUSTER_CATCH_UP_READING;
    stage.catch_up.target = 60;
    assert_int_equal(cluster_catch_up_entry(&stage.catch_up, POOL, container, 60, &entry), 0);
    cluster_catch_up_read_end(&stage.catch_up);
}

static void open_old(uint8_t durability, uint8_t entry_state)
{
    const struct ops_stage_pool kv = {.name = "kv", .containers = 1, .durability = durability};
    struct cluster_orders_order order;
    struct cluster_record_pool record;

    ops_stage_open(&stage, &limits);
    order = ops_stage_spec(&stage, &kv);
    record = (struct cluster_record_pool){.state = CLUSTER_POOL_ACTIVE,
                                          .containers = 1,
                                          .slots_count = cluster_pool_new_slots(1).count,
                                          .digest = order.digest,
                                          .spec = order.spec,
                                          .manifest = order.manifest};
    assert_int_equal(cluster_pools_put(stage.context.pools, POOL, 40, &record), 0);
    put_entry(0, entry_state);
}

static void begins(uint8_t how, uint64_t token, uint64_t lineage, bool copy)
{
    const struct cluster_effect *effect = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);

    assert_int_equal(effect->how, how);
    assert_int_equal(effect->token, token);
    assert_int_equal(effect->lineage, lineage);
    assert_int_equal(effect->copy, copy);
    assert_int_equal(effect->at_ns, stage.now + CLUSTER_LIVES_BEGIN_NS);
}

/* r[verify cluster.restart.epoch] r[verify cluster.restart.lineage] */
static void an_entry_of_an_older_session_begins_in_the_next_epoch(void **state)
{
    static const struct {
        uint8_t durability, before, after, how;
        bool keeps, copy;
    } rows[] = {
        {CLUSTER_DURABILITY_ACKED, CLUSTER_ENTRY_ACTIVE, CLUSTER_ENTRY_RESTARTING,
         CLUSTER_BEGIN_RESTART, true, true},
        {CLUSTER_DURABILITY_CHECKPOINT, CLUSTER_ENTRY_ACTIVE, CLUSTER_ENTRY_RESTARTING,
         CLUSTER_BEGIN_RESTART, false, true},
        {CLUSTER_DURABILITY_LOCAL, CLUSTER_ENTRY_RECOVERING, CLUSTER_ENTRY_RESTARTING,
         CLUSTER_BEGIN_RESTART, false, false},
        {CLUSTER_DURABILITY_NONE, CLUSTER_ENTRY_RESTARTING, CLUSTER_ENTRY_RESTARTING,
         CLUSTER_BEGIN_RESTART, false, false},
        {CLUSTER_DURABILITY_ACKED, CLUSTER_ENTRY_STARTING, CLUSTER_ENTRY_STARTING,
         CLUSTER_BEGIN_INIT, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t lineage = rows[i].keeps ? cluster_ids_lineage(2, 1) : cluster_ids_lineage(5, 0);
        struct cluster_entry entry;

        open_old(rows[i].durability, rows[i].before);
        ops_stage_step(&stage);
        assert_null(stage.txn); /* it has not started */
        ops_stage_start(&stage, STAGE_SESSION);
        (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
        entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
        assert_int_equal(entry.state, rows[i].after);
        assert_int_equal(entry.epoch, 5);
        assert_int_equal(entry.session, STAGE_SESSION);
        assert_int_equal(entry.lineage, lineage);
        ops_stage_commit(&stage);
        begins(rows[i].how, cluster_ids_token(0, 5, 0), lineage, rows[i].copy);
        ops_stage_close(&stage);
    }
}

static void serve(uint8_t durability)
{
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    (void)ops_stage_pool(
        &stage, &(struct ops_stage_pool){.name = "kv", .containers = 1, .durability = durability});
}

/* r[verify cluster.restart.life] r[verify cluster.restart.lineage] r[verify cluster.restart.serves]
 */
static void a_container_whose_guest_dies_begins_in_its_next_life(void **state)
{
    (void)state;
    for (int acked = 0; acked < 2; acked++) {
        serve(acked ? CLUSTER_DURABILITY_ACKED : CLUSTER_DURABILITY_CHECKPOINT);
        ops_stage_kill(&stage, POOL, 0);
        assert_int_equal(stage.down, 1);
        begins(CLUSTER_BEGIN_RESTART, cluster_ids_token(0, 1, 1),
               cluster_ids_lineage(1, acked ? 0 : 1), true);
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
        (void)ops_stage_effect(&stage, CLUSTER_EFFECT_RELEASE, 1);
        assert_null(stage.txn);
        assert_int_equal(stage.served, 2);
        ops_stage_close(&stage);
    }
}

/* r[verify cluster.restart.life] */
static void after_its_last_life_the_epoch_rises(void **state)
{
    const struct cluster_local_container *local;

    (void)state;
    serve(CLUSTER_DURABILITY_NONE);
    for (uint32_t life = 1; life <= CLUSTER_LIFE_MAX; life++) {
        ops_stage_kill(&stage, POOL, 0);
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    }
    local = cluster_local_containers_find(stage.context.locals, POOL, 0);
    assert_int_equal(local->token, cluster_ids_token(0, 1, CLUSTER_LIFE_MAX));
    assert_int_equal(local->state, CLUSTER_LOCAL_SERVING);
    ops_stage_kill(&stage, POOL, 0);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.epoch, 2);
    ops_stage_commit(&stage);
    begins(CLUSTER_BEGIN_RESTART, cluster_ids_token(0, 2, 0), cluster_ids_lineage(2, 0), false);
    ops_stage_close(&stage);
}

/* r[verify cluster.restart.quarantine] */
static void after_three_failures_it_is_left_alone(void **state)
{
    uint64_t waits[] = {200, 400};

    (void)state;
    serve(CLUSTER_DURABILITY_NONE);
    ops_stage_kill(&stage, POOL, 0);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                        RAPAHUB_EDIED);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_RESTARTING);
    ops_stage_commit(&stage);
    for (int i = 0; i < 2; i++) {
        ops_stage_pass(&stage, waits[i] - 1);
        (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
        assert_int_equal(cluster_ops_next(stage.ops), stage.now + STAGE_MS);
        ops_stage_pass(&stage, 1);
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                            RAPAHUB_EINVAL);
    }
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_QUARANTINED);
    ops_stage_commit(&stage);
    assert_int_equal(stage.gone, 1);
    assert_null(cluster_local_containers_find(stage.context.locals, POOL, 0));
    ops_stage_pass(&stage, 100000);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
    assert_null(stage.txn);
    ops_stage_close(&stage);
}

static void fail_twice(void)
{
    for (int i = 0; i < 2; i++) {
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                            RAPAHUB_EDIED);
        if (stage.txn)
            ops_stage_commit(&stage);
        ops_stage_pass(&stage, 400);
    }
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_state(&stage, POOL, 0), CLUSTER_ENTRY_ACTIVE);
}

/* r[verify cluster.restart.quarantine] */
static void failures_count_until_it_has_served_for_a_while(void **state)
{
    (void)state;
    serve(CLUSTER_DURABILITY_NONE);
    ops_stage_kill(&stage, POOL, 0);
    fail_twice();
    ops_stage_pass(&stage, 60000);
    ops_stage_kill(&stage, POOL, 0);
    fail_twice();
    ops_stage_pass(&stage, 59000);
    ops_stage_kill(&stage, POOL, 0);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                        RAPAHUB_EDIED);
    ops_stage_commit(&stage);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry.state,
                     CLUSTER_ENTRY_QUARANTINED);
    ops_stage_close(&stage);
}

/* r[verify cluster.restart.serves] */
static void an_entry_that_is_being_changed_is_left_alone(void **state)
{
    (void)state;
    open_old(CLUSTER_DURABILITY_NONE, CLUSTER_ENTRY_ACTIVE);
    ops_stage_start(&stage, STAGE_SESSION);
    ops_stage_commit(&stage);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    ops_stage_kill(&stage, POOL, 0); /* while its entry becomes active */
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
    ops_stage_commit(&stage);
    begins(CLUSTER_BEGIN_RESTART, cluster_ids_token(0, 5, 1), cluster_ids_lineage(5, 1), false);
    ops_stage_close(&stage);
}

/* The copy that it loads may be older than what was answered since the backup.
 * r[verify cluster.restart.lineage] */
static void after_a_restore_the_history_begins_anew(void **state)
{
    const uint64_t session = UINT64_C(1) << 52 | 7;
    const struct cluster_ops_start start = {.session = session, .boot = 1, .generation = 1};
    struct cluster_entry entry;

    (void)state;
    open_old(CLUSTER_DURABILITY_ACKED, CLUSTER_ENTRY_ACTIVE);
    assert_int_equal(cluster_ops_start(stage.ops, &start), 0);
    ops_stage_step(&stage);
    entry = ops_stage_record(&stage, CLUSTER_KEY_ENTRY, 0).entry;
    assert_int_equal(entry.state, CLUSTER_ENTRY_RESTARTING);
    assert_true(entry.session == session);
    assert_int_equal(entry.lineage, cluster_ids_lineage(5, 0));
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_of_an_older_session_begins_in_the_next_epoch),
        cmocka_unit_test(after_a_restore_the_history_begins_anew),
        cmocka_unit_test(a_container_whose_guest_dies_begins_in_its_next_life),
        cmocka_unit_test(after_its_last_life_the_epoch_rises),
        cmocka_unit_test(after_three_failures_it_is_left_alone),
        cmocka_unit_test(failures_count_until_it_has_served_for_a_while),
        cmocka_unit_test(an_entry_that_is_being_changed_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
