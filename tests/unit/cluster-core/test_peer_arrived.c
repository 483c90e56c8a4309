/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of other nodes to containers of a node. */
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

/* Returns the run that a call of node 2 becomes. */
static uint64_t runs(const struct cluster_peer_frame *call)
{
    assert_int_equal(peer_stage_arrive(&stage, call, "hello"), 0);
    return peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 1)->id;
}

/* Returns the refusal that a call gets. */
static struct cluster_peer_frame refused(const struct cluster_peer_frame *call, uint8_t reason)
{
    assert_int_equal(peer_stage_arrive(&stage, call, ""), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, reason);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->attempt, call->attempt);
    return *peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2);
}

/* r[verify cluster.peer.twice] r[verify cluster.peer.once] */
static void a_call_of_another_node_runs_and_is_answered_there(void **state)
{
    const struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);
    const struct cluster_peer_frame *result;
    struct cluster_peer_frame again = call;
    uint64_t id = runs(&call);

    (void)state;
    assert_int_equal(peer_stage_arrive(&stage, &call, "hello"), 0); /* it came twice */
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    peer_stage_end_run(&stage, id, "world");
    result = peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2);
    assert_int_equal(result->attempt, call.attempt);
    assert_int_equal(result->token, cluster_ids_token(0, 1, 0));
    assert_int_equal(result->lineage, cluster_ids_lineage(1, 0));
    assert_int_equal(result->status, 0);
    assert_memory_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_SEND, 1)->body.data, "world", 5);
    again.attempt = 9;
    again.maybe = true;
    assert_int_equal(peer_stage_arrive(&stage, &again, "hello"), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->attempt, 9);
    again.attempt = 10;
    again.digest = 6;
    assert_int_equal(peer_stage_arrive(&stage, &again, "other"), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->status, RAPAHUB_EMAYBE);
}

/* r[verify cluster.peer.lost] */
static void a_run_goes_on_while_the_link_is_lost(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);
    uint64_t id = runs(&call);

    (void)state;
    assert_int_equal(peer_stage_link(&stage, 2, CLUSTER_PEER_LOST, 0), 0);
    assert_int_equal(cluster_send_figures(cluster_core_parts(stage.core)->send).calls, 0);
    assert_int_equal(peer_stage_link(&stage, 2, CLUSTER_PEER_UP, 22), 0);
    call.attempt = 2;
    call.maybe = true;
    assert_int_equal(peer_stage_arrive(&stage, &call, "hello"), 0);
    peer_stage_silent(&stage);
    peer_stage_end_run(&stage, id, "world");
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->attempt, 2);
}

/* r[verify cluster.peer.twice] r[verify cluster.peer.lineage] */
static void a_call_waits_while_the_container_does_not_serve(void **state)
{
    const struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);
    struct cluster_peer_frame repeats = peer_stage_arrival(&stage, 2);

    (void)state;
    repeats.method = STAGE_REPEATS;
    peer_stage_kill(&stage);
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    assert_int_equal(peer_stage_arrive(&stage, &repeats, ""), 0);
    peer_stage_silent(&stage);
    peer_stage_begin(&stage, 1, 1);
    peer_stage_serve(&stage);
    assert_int_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 1)->uid.number, 2);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, CLUSTER_NACK_MOVED);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->lineage,
                     cluster_ids_lineage(1, 1));
    peer_stage_end_run(&stage, peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 1)->id, "");
}

/* r[verify cluster.peer.lineage] r[verify cluster.call.lineage] */
static void a_call_that_may_have_run_before_does_not_run_again(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1), lost;

    (void)state;
    (void)runs(&call);
    peer_stage_kill(&stage);
    peer_stage_begin(&stage, 1, 1);
    peer_stage_serve(&stage);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->status, RAPAHUB_EMAYBE);
    lost = peer_stage_arrival(&stage, 2); /* of an attempt that never came */
    lost.maybe = true;
    assert_int_equal(peer_stage_arrive(&stage, &lost, ""), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->status, RAPAHUB_EMAYBE);
    lost = peer_stage_arrival(&stage, 3);
    lost.maybe = true;
    lost.lineage = cluster_ids_lineage(1, 1);
    peer_stage_end_run(&stage, runs(&lost), "");
}

/* r[verify cluster.peer.nack] */
static void a_call_that_ran_is_lost_and_not_refused(void **state)
{
    static const uint32_t moved[STAGE_CONTAINERS] = {2, 2, 2, 3};
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);

    (void)state;
    (void)runs(&call);
    peer_stage_kill(&stage);
    peer_stage_map(&stage, STAGE_REVISION + 1, moved, 2);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, CLUSTER_NACK_LOST);
}

/* r[verify cluster.peer.nack] r[verify cluster.peer.twice] */
static void a_call_that_is_none_of_this_node_is_refused(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1), nack;

    (void)state;
    call.pool++;
    nack = refused(&call, CLUSTER_NACK_UNKNOWN);
    assert_int_equal(nack.revision, STAGE_REVISION);
    call = peer_stage_arrival(&stage, 2);
    call.method = 99;
    (void)refused(&call, CLUSTER_NACK_VERSION);
    call = peer_stage_arrival(&stage, 3);
    call.deadline_ns = stage.now;
    (void)refused(&call, CLUSTER_NACK_EXPIRED);
    call = peer_stage_arrival(&stage, 4);
    call.container = STAGE_CONTAINERS;
    (void)refused(&call, CLUSTER_NACK_UNKNOWN);
    call = peer_stage_arrival(&stage, 5);
    call.container = 3;
    call.pinned = true;
    nack = refused(&call, CLUSTER_NACK_MOVED);
    assert_int_equal(nack.owner, 3);
    assert_int_equal(nack.epoch, 1);
    assert_int_equal(nack.lineage, cluster_ids_lineage(1, 0));
    call = peer_stage_arrival(&stage, 6);
    call.token =
        cluster_ids_token(0, 9, 0); /* of an epoch that is not yet, by a map that is not new */
    (void)refused(&call, CLUSTER_NACK_MOVED);
}

/* The map of this node does not know it yet. r[verify cluster.peer.twice] */
static void a_call_for_an_epoch_that_is_over_is_refused(void **state)
{
    const struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);
    struct cluster_peer_frame nack;

    (void)state;
    peer_stage_kill(&stage);
    peer_stage_begin(&stage, 2, 0);
    peer_stage_serve(&stage);
    nack = refused(&call, CLUSTER_NACK_MOVED);
    assert_int_equal(nack.owner, 1);
    assert_int_equal(nack.epoch, 2);
    assert_int_equal(nack.lineage, cluster_ids_lineage(2, 0));
}

/* r[verify cluster.peer.behind] */
static void a_call_by_a_newer_map_waits_for_it(void **state)
{
    static const uint32_t owners[STAGE_CONTAINERS] = {1, 1, 2, 3};
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);

    (void)state;
    call.container = 1;
    call.token = cluster_ids_token(0, 2, 0);
    call.lineage = cluster_ids_lineage(2, 0);
    call.revision = STAGE_REVISION + 1;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    peer_stage_silent(&stage);
    peer_stage_pass(&stage, 99);
    peer_stage_silent(&stage);
    peer_stage_pass(&stage, 1);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, CLUSTER_NACK_BEHIND);
    call.attempt = 2;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    peer_stage_map(&stage, STAGE_REVISION + 1, owners, 2);
    peer_stage_pass(&stage, 200); /* it is parked now, until its deadline */
    peer_stage_silent(&stage);
    assert_int_equal(cluster_parking_figures(cluster_core_parts(stage.core)->parking, 0, 0).calls,
                     1);
}

/* r[verify cluster.peer.forward] r[verify cluster.resolve.hops] */
static void a_call_is_handed_on_and_its_answer_back(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1), on, back;

    (void)state;
    call.container = 3;
    assert_int_equal(peer_stage_arrive(&stage, &call, "hello"), 0);
    on = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    assert_int_equal(on.ttl, CLUSTER_FRAME_TTL - 1);
    assert_int_equal(on.lineage, call.lineage);
    assert_int_equal(on.uid.origin, 22);
    back = peer_stage_reply(&on, CLUSTER_FRAME_RESULT);
    back.token |= 4;
    assert_int_equal(peer_stage_arrive(&stage, &back, "world"), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->attempt, call.attempt);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_RESULT, 2)->token, back.token);
    call.attempt = 2;
    call.ttl = 0;
    (void)refused(&call, CLUSTER_NACK_HOPS);
    call.attempt = 3;
    call.ttl = 1;
    call.lineage = cluster_ids_lineage(1, 5); /* another one would have to be chosen */
    (void)refused(&call, CLUSTER_NACK_MOVED);
}

/* r[verify cluster.peer.forward] r[verify cluster.peer.lost] r[verify cluster.peer.cancel] */
static void what_becomes_of_a_call_that_was_handed_on_is_told(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1), on;

    (void)state;
    call.container = 3;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    on = peer_stage_reply(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3), CLUSTER_FRAME_NACK);
    on.reason = CLUSTER_NACK_ORDER;
    assert_int_equal(peer_stage_arrive(&stage, &on, ""), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, CLUSTER_NACK_ORDER);
    call.attempt = 2;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    on = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    call.type = CLUSTER_FRAME_CANCEL;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CANCEL, 3)->attempt, on.attempt);
    call.type = CLUSTER_FRAME_CALL;
    call.attempt = 3;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    assert_int_equal(peer_stage_link(&stage, 3, CLUSTER_PEER_LOST, 0), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, CLUSTER_NACK_LOST);
    call.attempt = 4;
    (void)refused(&call, CLUSTER_NACK_BUSY); /* there is no link to hand it on */
}

/* r[verify cluster.peer.cancel] */
static void a_cancelled_call_is_not_answered(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1), cancel;
    uint64_t id = runs(&call);

    (void)state;
    cancel = call;
    cancel.type = CLUSTER_FRAME_CANCEL;
    cancel.attempt = 8; /* of an attempt that is not this one */
    assert_int_equal(peer_stage_arrive(&stage, &cancel, ""), 0);
    assert_int_equal(cluster_send_figures(cluster_core_parts(stage.core)->send).calls, 1);
    cancel.attempt = call.attempt;
    assert_int_equal(peer_stage_arrive(&stage, &cancel, ""), 0);
    peer_stage_end_run(&stage, id, "world");
    peer_stage_silent(&stage);
}

/* r[verify cluster.peer.once] */
static void the_deadline_of_a_call_is_its_senders(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);

    (void)state;
    peer_stage_kill(&stage);
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    peer_stage_pass(&stage, 1000);
    peer_stage_silent(&stage);
    assert_int_equal(cluster_send_figures(cluster_core_parts(stage.core)->send).calls, 0);
}

/* r[verify cluster.peer.order] */
static void calls_of_an_order_wait_for_the_one_before(void **state)
{
    struct cluster_peer_frame second = peer_stage_arrival(&stage, 2),
                              first = peer_stage_arrival(&stage, 1);
    uint64_t ids[2], n = 0;

    (void)state;
    first.order = second.order = 3;
    second.order_previous = 1;
    assert_int_equal(peer_stage_arrive(&stage, &second, ""), 0);
    peer_stage_silent(&stage);
    peer_stage_pass(&stage, 200);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->reason, CLUSTER_NACK_ORDER);
    second.attempt = 9;
    assert_int_equal(peer_stage_arrive(&stage, &second, ""), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    assert_int_equal(peer_stage_arrive(&stage, &first, ""), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 2);
    for (uint32_t i = 0; i < stage.out.count; i++)
        if (stage.out.effects[i].kind == CLUSTER_EFFECT_RUN) {
            assert_int_equal(stage.out.effects[i].uid.number, n + 1);
            ids[n++] = stage.out.effects[i].id;
        }
    peer_stage_end_run(&stage, ids[0], "");
    peer_stage_end_run(&stage, ids[1], "");
}

/* The one before may leave without having been admitted. r[verify cluster.peer.order] */
static void a_call_does_not_pass_the_one_before_it(void **state)
{
    struct cluster_peer_frame second = peer_stage_arrival(&stage, 8),
                              first = peer_stage_arrival(&stage, 5);

    (void)state;
    first.order = second.order = 3;
    first.order_previous = 4;
    second.order_previous = 5;
    assert_int_equal(peer_stage_arrive(&stage, &first, ""), 0);
    peer_stage_pass(&stage, 100);
    assert_int_equal(peer_stage_arrive(&stage, &second, ""), 0);
    peer_stage_silent(&stage);
    peer_stage_pass(&stage, 100);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->uid.number, 5);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 0);
    peer_stage_pass(&stage, 200);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 2)->uid.number, 8);
}

/* r[verify cluster.peer.bounds] */
static void calls_of_a_node_are_bounded(void **state)
{
    struct cluster_peer_frame call = {.node = 0};

    (void)state;
    peer_stage_kill(&stage);
    for (uint64_t i = 1; i <= peer_stage_limits.peer_calls; i++) {
        call = peer_stage_arrival(&stage, i);
        assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
        peer_stage_silent(&stage);
    }
    call = peer_stage_arrival(&stage, 9);
    (void)refused(&call, CLUSTER_NACK_BUSY);
    call.node = 3; /* another one has its own */
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_NACK, 3)->reason, CLUSTER_NACK_BUSY);
}

/* What was outside of the core is dropped, whatever becomes of the call. r[verify
 * cluster.peer.bounds] */
static void bodies_outside_are_dropped(void **state)
{
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);
    struct cluster_event event = {
        .kind = CLUSTER_EVENT_ARRIVED, .frame = &call, .body = {.number = 7, .size = 1000}};

    (void)state;
    call.method = 99;
    assert_int_equal(peer_stage_tell(&stage, event), 0);
    assert_int_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_DROP, 1)->payload, 7);
    call = peer_stage_arrival(&stage, 2);
    call.deadline_ns = 0;
    event.body.number = 8;
    assert_int_equal(peer_stage_tell(&stage, event), 0);
    assert_int_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_DROP, 1)->payload, 8);
    call.type = CLUSTER_FRAME_RESULT;
    event.body.number = 9;
    assert_int_equal(peer_stage_tell(&stage, event), 0);
    assert_int_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_DROP, 1)->payload, 9);
}

/* r[verify cluster.peer.origins] */
static void what_is_known_of_a_node_goes_with_its_session(void **state)
{
    const struct cluster_dispatch *parts = cluster_core_parts(stage.core);
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1);

    (void)state;
    peer_stage_end_run(&stage, runs(&call), "world");
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).calls, 1);
    assert_int_equal(peer_stage_link(&stage, 2, CLUSTER_PEER_LOST, 0), 0);
    assert_int_equal(peer_stage_link(&stage, 2, CLUSTER_PEER_UP, 22), 0);
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).calls, 1);
    assert_int_equal(peer_stage_link(&stage, 2, CLUSTER_PEER_UP, 23), 0);
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).calls, 0);
}

/* r[verify cluster.peer.origins] */
static void clients_of_other_nodes_are_forgotten_after_their_deadlines(void **state)
{
    const struct cluster_dispatch *parts = cluster_core_parts(stage.core);
    struct cluster_peer_frame call = peer_stage_arrival(&stage, 1), open = call;
    struct cluster_send_call own = peer_stage_asked(1, 0);
    uint64_t id;

    (void)state;
    call.uid.origin = STAGE_CLIENT | 5;
    peer_stage_end_run(&stage, runs(&call), "world");
    id = runs(&open);
    own.uid.origin = STAGE_CLIENT | 6;
    assert_int_equal(peer_stage_ask(&stage, &own), 0);
    peer_stage_end_run(&stage, peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 1)->id, "");
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).origins, 3);
    peer_stage_pass(&stage, 20 * 60 * 1000);
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).origins, 3);
    peer_stage_pass(&stage, 2000);
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).origins, 2); /* one still runs */
    peer_stage_end_run(&stage, id, "");
    peer_stage_pass(&stage, 61 * 1000);
    assert_int_equal(cluster_dedup_figures(parts->dedup, 0, 0).origins, 1); /* of this node */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        TEST(a_call_of_another_node_runs_and_is_answered_there),
        TEST(a_run_goes_on_while_the_link_is_lost),
        TEST(a_call_waits_while_the_container_does_not_serve),
        TEST(a_call_that_may_have_run_before_does_not_run_again),
        TEST(a_call_that_ran_is_lost_and_not_refused),
        TEST(a_call_that_is_none_of_this_node_is_refused),
        TEST(a_call_for_an_epoch_that_is_over_is_refused),
        TEST(a_call_by_a_newer_map_waits_for_it),
        TEST(a_call_is_handed_on_and_its_answer_back),
        TEST(what_becomes_of_a_call_that_was_handed_on_is_told),
        TEST(a_cancelled_call_is_not_answered),
        TEST(the_deadline_of_a_call_is_its_senders),
        TEST(calls_of_an_order_wait_for_the_one_before),
        TEST(a_call_does_not_pass_the_one_before_it),
        TEST(calls_of_a_node_are_bounded),
        TEST(bodies_outside_are_dropped),
        TEST(what_is_known_of_a_node_goes_with_its_session),
        TEST(clients_of_other_nodes_are_forgotten_after_their_deadlines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
