/* SPDX-License-Identifier: Apache-2.0 */
/* A node that does not lead: what it does by itself, and what it tells. */
#include "cluster/core/ops/reports.h"
#include "tests/unit/cluster-core/ops_stage.h"

#define POOL UINT64_C(0x0000010000000000)
#define LEAD 2

static struct ops_stage stage;
static const struct cluster_limits limits = {.pools = 8,
                                             .entries = 200,
                                             .containers = 200,
                                             .calls = 8,
                                             .payloads = 8,
                                             .effects = 600,
                                             .peers = 4};
static uint32_t readings;

/* The map gets these entries, of the first epochs of the containers, by a reading. */
static void put_entries(uint32_t count, uint8_t entry_state, uint64_t epoch)
{
    const struct cluster_entry entry = {
        .state = entry_state,
        .owner = entry_state == CLUSTER_ENTRY_QUARANTINED ? 0 : STAGE_NODE,
        .session = entry_state == CLUSTER_ENTRY_QUARANTINED ? 0 : STAGE_SESSION,
        .destination = entry_state == CLUSTER_ENTRY_QUARANTINED ? STAGE_NODE : 0,
        .epoch = epoch,
        .lineage = cluster_ids_lineage(epoch, 0)};

    cluster_catch_up_doubt(&stage.catch_up);
    assert_int_equal(cluster_catch_up_read(&stage.catch_up, 1000 + ++readings), 0);
    for (uint32_t c = 0; c < count; c++)
        assert_int_equal(cluster_catch_up_entry(&stage.catch_up, POOL, c, 1000 + readings, &entry),
                         0);
    cluster_catch_up_read_end(&stage.catch_up);
    cluster_ops_changed(stage.ops);
    ops_stage_step(&stage);
}

static void put_pool(uint32_t containers, uint8_t pool_state)
{
    const struct ops_stage_pool kv = {.name = "kv", .containers = containers};
    const struct cluster_orders_order order = ops_stage_spec(&stage, &kv);
    const struct cluster_record_pool record = {.state = pool_state,
                                               .containers = containers,
                                               .slots_count =
                                                   cluster_pool_new_slots(containers).count,
                                               .digest = order.digest,
                                               .spec = order.spec,
                                               .manifest = order.manifest};

    assert_int_equal(cluster_pools_put(stage.context.pools, POOL, 40 + ++readings, &record), 0);
    cluster_ops_changed(stage.ops);
}

/* Entries of the first epoch, whose containers begin. */
static void open_follower(uint32_t containers, uint8_t pool_state)
{
    ops_stage_open(&stage, &limits);
    put_pool(containers, pool_state);
    put_entries(containers, CLUSTER_ENTRY_STARTING, 1);
    ops_stage_follow(&stage, LEAD);
    assert_null(stage.txn);
}

static uint32_t count(uint8_t kind)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < stage.out.count; i++)
        found += stage.out.effects[i].kind == kind;
    return found;
}

static void link_is(bool up)
{
    cluster_ops_set_time(stage.ops, stage.now);
    cluster_ops_link(stage.ops, LEAD, up);
    ops_stage_step(&stage);
}

static const struct cluster_effect *told(uint8_t step, uint64_t epoch)
{
    const struct cluster_effect *effect = ops_stage_effect(&stage, CLUSTER_EFFECT_REPORT, 1);

    assert_int_equal(effect->number, LEAD);
    assert_int_equal(effect->pool, POOL);
    assert_int_equal(effect->how, step);
    assert_int_equal(effect->epoch, epoch);
    return effect;
}

/* r[verify cluster.orders.lead] */
static void orders_are_refused_and_the_leader_named(void **state)
{
    const struct ops_stage_pool kv = {.name = "kv", .containers = 1};

    (void)state;
    ops_stage_open(&stage, &limits);
    ops_stage_follow(&stage, LEAD);
    assert_int_equal(ops_stage_apply(&stage, &kv), RAPAHUB_ESTATE);
    assert_non_null(strstr(rapahub_last_error()->text, "node 2 leads"));
    assert_int_equal(ops_stage_wait(&stage, 1), RAPAHUB_ESTATE);
    assert_null(stage.txn);
    ops_stage_close(&stage);
}

/* r[verify cluster.lead.writes] r[verify cluster.step.done] r[verify cluster.step.again] */
static void a_begin_is_told_until_the_map_shows_it(void **state)
{
    (void)state;
    open_follower(1, CLUSTER_POOL_CREATING);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), 0); /* its link is not up */
    link_is(true);
    (void)told(CLUSTER_STEP_BEGUN, 1);
    ops_stage_pass(&stage, 99);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), 0);
    ops_stage_pass(&stage, 1);
    (void)told(CLUSTER_STEP_BEGUN, 1);
    ops_stage_pass(&stage, 199);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), 0);
    link_is(false);
    ops_stage_pass(&stage, 10000);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), 0);
    link_is(true);
    (void)told(CLUSTER_STEP_BEGUN, 1);
    put_entries(1, CLUSTER_ENTRY_ACTIVE, 1);
    ops_stage_pass(&stage, 60000);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), 0);
    assert_null(stage.txn);
    put_pool(1, CLUSTER_POOL_ACTIVE);
    ops_stage_step(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_RELEASE, 1);
    ops_stage_close(&stage);
}

/* r[verify cluster.step.done] r[verify cluster.restart.quarantine] */
static void a_failure_is_told_with_its_cause_and_a_release_forgives_it(void **state)
{
    const struct cluster_effect *effect;

    (void)state;
    open_follower(1, CLUSTER_POOL_ACTIVE);
    for (int i = 0; i < CLUSTER_LIVES_FAILURES_MAX; i++) {
        ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                            RAPAHUB_EINVAL);
        ops_stage_pass(&stage, 10000);
    }
    assert_int_equal(count(CLUSTER_EFFECT_BEGIN), 0);
    link_is(true);
    effect = told(CLUSTER_STEP_FAILED, 1);
    assert_int_equal(effect->status, RAPAHUB_EINVAL);
    assert_int_equal(effect->text.size, 9);
    put_entries(1, CLUSTER_ENTRY_QUARANTINED, 2);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT) + count(CLUSTER_EFFECT_BEGIN), 0);
    put_entries(1, CLUSTER_ENTRY_RECOVERING, 3);
    assert_int_equal(ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->how, CLUSTER_BEGIN_RECOVER);
    ops_stage_close(&stage);
}

/* r[verify cluster.step.done] r[verify cluster.delete.all] */
static void a_removal_is_told_when_all_is_gone(void **state)
{
    (void)state;
    open_follower(1, CLUSTER_POOL_CREATING);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    link_is(true);
    (void)told(CLUSTER_STEP_BEGUN, 1);
    put_pool(1, CLUSTER_POOL_DESTROYING);
    ops_stage_step(&stage);
    ops_stage_end_removal(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_REMOVE, 1)->id, 0);
    assert_int_equal(told(CLUSTER_STEP_REMOVED, 1)->status, 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.step.done] */
static void it_is_told_that_one_that_was_active_stays_down(void **state)
{
    (void)state;
    open_follower(1, CLUSTER_POOL_ACTIVE);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    link_is(true);
    put_entries(1, CLUSTER_ENTRY_ACTIVE, 1);
    ops_stage_kill(&stage, POOL, 0);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id,
                        RAPAHUB_EDIED);
    assert_int_equal(told(CLUSTER_STEP_DOWN, 1)->status, RAPAHUB_EDIED);
    ops_stage_pass(&stage, 60000);
    assert_int_equal(count(CLUSTER_EFFECT_BEGIN), 0);
    put_entries(1, CLUSTER_ENTRY_RESTARTING, 2);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
    ops_stage_close(&stage);
}

/* Ends all begins that are asked for, and those that are asked for then. */
static void end_all_begins(void)
{
    static uint64_t ids[200];
    uint32_t known = 0, ended = 0;

    do {
        for (uint32_t i = 0; i < stage.out.count; i++)
            if (stage.out.effects[i].kind == CLUSTER_EFFECT_BEGIN)
                ids[known++] = stage.out.effects[i].id;
        ops_stage_end_begin(&stage, ids[ended++], 0);
    } while (ended < known || count(CLUSTER_EFFECT_BEGIN) > 0);
}

/* r[verify cluster.step.again] */
static void not_all_is_told_at_once(void **state)
{
    (void)state;
    open_follower(150, CLUSTER_POOL_CREATING);
    end_all_begins();
    link_is(true);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), CLUSTER_REPORTS_AT_ONCE);
    ops_stage_pass(&stage, 1);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), CLUSTER_REPORTS_AT_ONCE);
    ops_stage_pass(&stage, 1);
    assert_int_equal(count(CLUSTER_EFFECT_REPORT), 150 - 2 * CLUSTER_REPORTS_AT_ONCE);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_refused_and_the_leader_named),
        cmocka_unit_test(a_begin_is_told_until_the_map_shows_it),
        cmocka_unit_test(a_failure_is_told_with_its_cause_and_a_release_forgives_it),
        cmocka_unit_test(a_removal_is_told_when_all_is_gone),
        cmocka_unit_test(it_is_told_that_one_that_was_active_stays_down),
        cmocka_unit_test(not_all_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
