/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that wait for a step, because many effects are before them, while their container dies. */
#include "tests/unit/cluster-core/peer_stage.h"

static struct peer_stage stage;

static int open_stage(void **state)
{
    (void)state;
    peer_stage_open(&stage);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    peer_stage_close(&stage);
    return 0;
}

static void ask_behind(unsigned effects)
{
    struct cluster_send_call asked = peer_stage_asked(1, 0);

    for (unsigned i = 0; i < effects; i++)
        cluster_effects_add(cluster_core_parts(stage.core)->effects,
                            &(struct cluster_effect){.kind = CLUSTER_EFFECT_DROP});
    asked.method = STAGE_REPEATS;
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
}

/* r[verify cluster.core.ended] */
static void a_run_is_not_returned_while_its_container_is_down(void **state)
{
    const struct cluster_dispatch *parts = cluster_core_parts(stage.core);
    uint32_t asked = cluster_pending_count(parts->pending);

    (void)state;
    ask_behind(CLUSTER_EFFECTS_MAX + 10);
    assert_int_equal(cluster_pending_count(parts->pending), asked + 1);
    peer_stage_kill(&stage);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    peer_stage_pass(&stage, 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    assert_int_equal(cluster_pending_count(parts->pending), asked);
}

/* r[verify cluster.core.ended] */
static void a_run_is_not_returned_in_the_next_life(void **state)
{
    const struct cluster_dispatch *parts = cluster_core_parts(stage.core);
    uint32_t asked = cluster_pending_count(parts->pending);
    const struct cluster_effect *run;

    (void)state;
    ask_behind(2 * CLUSTER_EFFECTS_MAX + 10);
    peer_stage_kill(&stage);
    assert_int_equal(cluster_pending_count(parts->pending), asked + 1);
    peer_stage_begin(&stage, 1, 1);
    peer_stage_serve(&stage);
    run = peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 1);
    assert_int_equal(run->token, cluster_ids_token(0, 1, 1));
    assert_int_equal(cluster_pending_count(parts->pending), asked + 1);
    peer_stage_end_run(&stage, run->id, "world");
    peer_stage_answered(&stage, 1, 0);
}

/* The life ends in the step after which its run would have been returned, and more follow. */
static void what_is_behind_a_run_that_has_ended_is_returned(void **state)
{
    (void)state;
    ask_behind(CLUSTER_EFFECTS_MAX + 10);
    cluster_effects_add(cluster_core_parts(stage.core)->effects,
                        &(struct cluster_effect){.kind = CLUSTER_EFFECT_RELEASE, .container = 3});
    peer_stage_kill(&stage);
    assert_int_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_RELEASE, 1)->container, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_is_not_returned_while_its_container_is_down,
                                        open_stage, close_stage),
        cmocka_unit_test_setup_teardown(a_run_is_not_returned_in_the_next_life, open_stage,
                                        close_stage),
        cmocka_unit_test_setup_teardown(what_is_behind_a_run_that_has_ended_is_returned, open_stage,
                                        close_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
