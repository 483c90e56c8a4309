/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/lives.h"
#include "tests/unit/cluster-core/ops_stage.h"

static struct ops_stage stage;
static const struct cluster_limits limits = {
    .pools = 8, .entries = 200, .containers = 200, .calls = 8, .payloads = 8, .effects = 600};
#define POOL UINT64_C(0x0000010000000000)

static void begin_pool(uint32_t containers)
{
    ops_stage_open(&stage, &limits);
    ops_stage_start(&stage, STAGE_SESSION);
    assert_int_equal(
        ops_stage_apply(&stage, &(struct ops_stage_pool){"kv", containers, 0, NULL, 0}), 0);
    ops_stage_commit(&stage);
}

/* r[verify cluster.core.answer] */
static void each_question_has_one_answer(void **state)
{
    struct cluster_lives_answer answer = {.id = 1};

    (void)state;
    begin_pool(1);
    assert_int_equal(cluster_ops_begun(stage.ops, &answer), RAPAHUB_ENOENT);
    answer.id = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id;
    assert_int_equal(cluster_ops_removed(stage.ops, &answer), RAPAHUB_ENOENT);
    assert_int_equal(cluster_ops_begun(stage.ops, &answer), 0);
    assert_int_equal(cluster_ops_begun(stage.ops, &answer), RAPAHUB_ENOENT);
    assert_int_equal(cluster_lives_asked(cluster_ops_lives(stage.ops)), 0);
    ops_stage_close(&stage);
}

/* r[verify cluster.local.states] */
static void a_begin_whose_guest_has_died_has_failed(void **state)
{
    const struct cluster_local_container *local;

    uint64_t id;

    (void)state;
    begin_pool(1);
    id = ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id;
    ops_stage_kill(&stage, POOL, 0);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 0);
    local = cluster_local_containers_find(stage.context.locals, POOL, 0);
    assert_int_equal(local->state, CLUSTER_LOCAL_DOWN);
    ops_stage_end_begin(&stage, id, 0);
    assert_int_equal(local->state, CLUSTER_LOCAL_DOWN);
    assert_int_equal(stage.begun, 0);
    ops_stage_pass(&stage, 200);
    assert_int_equal(ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->token,
                     cluster_ids_token(0, 1, 1));
    ops_stage_close(&stage);
}

/* r[verify cluster.local.states] */
static void one_that_cannot_take_calls_has_not_begun(void **state)
{
    const struct cluster_local_container *local;

    (void)state;
    begin_pool(1);
    stage.begun_status = RAPAHUB_EFULL;
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1)->id, 0);
    local = cluster_local_containers_find(stage.context.locals, POOL, 0);
    assert_int_equal(local->state, CLUSTER_LOCAL_DOWN);
    assert_int_equal(ops_stage_record(&stage, CLUSTER_KEY_OPERATION, 0).operation.result,
                     RAPAHUB_EFULL);
    ops_stage_close(&stage);
}

/* r[verify cluster.map.bounds] */
static void so_many_are_asked_at_a_time(void **state)
{
    (void)state;
    begin_pool(60);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 60);
    assert_int_equal(ops_stage_apply(&stage, &(struct ops_stage_pool){"b", 60, 0, NULL, 0}), 0);
    ops_stage_commit(&stage);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 4);
    ops_stage_end_begin(&stage, ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 4)->id, 0);
    (void)ops_stage_effect(&stage, CLUSTER_EFFECT_BEGIN, 1);
    assert_int_equal(cluster_lives_asked(cluster_ops_lives(stage.ops)), CLUSTER_LIVES_ASKED_MAX);
    ops_stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_question_has_one_answer),
        cmocka_unit_test(a_begin_whose_guest_has_died_has_failed),
        cmocka_unit_test(one_that_cannot_take_calls_has_not_begun),
        cmocka_unit_test(so_many_are_asked_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
