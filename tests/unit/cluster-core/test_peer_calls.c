/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a node to containers of other nodes. */
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

/* r[verify cluster.peer.send] r[verify cluster.peer.once] */
static void a_call_is_sent_and_its_caller_is_told_once(void **state)
{
    struct cluster_peer_frame call, result;

    (void)state;
    call = peer_stage_call(&stage, 1, 3);
    assert_int_equal(call.ttl, CLUSTER_FRAME_TTL);
    assert_int_equal(call.token, cluster_ids_token(0, 1, 0));
    assert_int_equal(call.lineage, cluster_ids_lineage(1, 0));
    assert_int_equal(call.revision, STAGE_REVISION);
    assert_int_equal(call.method, STAGE_ONCE);
    assert_int_equal(call.deadline_ns, 4 * STAGE_SECOND);
    assert_false(call.maybe || call.repeat || call.pinned);
    assert_memory_equal(stage.out.effects[0].body.data, "hello", 5);
    result = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &result, "world"), 0);
    peer_stage_answered(&stage, 1, 0);
    assert_memory_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_ANSWER, 1)->body.data, "world", 5);
    assert_int_equal(peer_stage_arrive(&stage, &result, "again"), 0);
    peer_stage_silent(&stage);
}

/* r[verify cluster.resolve.query] r[verify cluster.peer.once] */
static void a_broadcast_goes_to_all_nodes(void **state)
{
    struct cluster_send_call asked = peer_stage_asked(1, 0);
    struct cluster_peer_frame calls[3];
    uint64_t run = 0;

    (void)state;
    asked.query = (struct cluster_resolve_query){.mode = CLUSTER_MODE_BROADCAST};
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_SEND, 3);
    for (uint32_t i = 0, n = 0; i < stage.out.count; i++) {
        if (stage.out.effects[i].kind == CLUSTER_EFFECT_SEND)
            calls[n++] = *stage.out.effects[i].frame;
        if (stage.out.effects[i].kind == CLUSTER_EFFECT_RUN)
            run = stage.out.effects[i].id;
    }
    for (int i = 2; i >= 0; i--) {
        const struct cluster_peer_frame result = peer_stage_reply(&calls[i], CLUSTER_FRAME_RESULT);

        assert_int_equal(peer_stage_arrive(&stage, &result, "one"), 0);
        assert_int_equal(peer_stage_effect(&stage, CLUSTER_EFFECT_EACH, 1)->container,
                         calls[i].container);
        (void)peer_stage_effect(&stage, CLUSTER_EFFECT_ANSWER, 0);
    }
    peer_stage_end_run(&stage, run, "own");
    peer_stage_answered(&stage, 1, 0);
}

/* r[verify cluster.resolve.query] r[verify cluster.peer.forward] */
static void a_call_to_a_node_stays_there(void **state)
{
    static const uint32_t moved[STAGE_CONTAINERS] = {1, 2, 2, 2};
    struct cluster_send_call asked = peer_stage_asked(1, 0);
    struct cluster_peer_frame nack;

    (void)state;
    asked.query = (struct cluster_resolve_query){.mode = CLUSTER_MODE_PHYSICAL, .number = 3};
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    nack = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    assert_true(nack.pinned);
    nack = peer_stage_reply(&nack, CLUSTER_FRAME_NACK);
    nack.reason = CLUSTER_NACK_MOVED;
    nack.revision = STAGE_REVISION + 1;
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    peer_stage_silent(&stage);
    peer_stage_map(&stage, STAGE_REVISION + 1, moved, 2);
    peer_stage_answered(&stage, 1, RAPAHUB_ENOTLOCAL);
}

/* r[verify cluster.peer.lost] r[verify cluster.peer.lineage] */
static void a_call_whose_link_is_lost_is_sent_again_to_the_same_lineage(void **state)
{
    struct cluster_peer_frame first, again;

    (void)state;
    first = peer_stage_call(&stage, 1, 3);
    assert_int_equal(peer_stage_link(&stage, 3, CLUSTER_PEER_LOST, 0), 0);
    peer_stage_silent(&stage);
    peer_stage_pass(&stage, 100);
    peer_stage_silent(&stage);
    assert_int_equal(peer_stage_link(&stage, 3, CLUSTER_PEER_UP, 34), 0);
    again = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    assert_true(again.maybe);
    assert_int_equal(again.lineage, first.lineage);
    assert_int_equal(again.uid.number, 1);
    assert_int_not_equal(again.attempt, first.attempt);
    first = peer_stage_reply(&first, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &first, "late"), 0);
    peer_stage_silent(&stage);
    again = peer_stage_reply(&again, CLUSTER_FRAME_RESULT);
    again.status = RAPAHUB_EMAYBE;
    assert_int_equal(peer_stage_arrive(&stage, &again, ""), 0);
    peer_stage_answered(&stage, 1, RAPAHUB_EMAYBE);
}

/* r[verify cluster.peer.nack] r[verify cluster.peer.lineage] */
static void a_refusal_says_which_lineage_admits_calls(void **state)
{
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3), nack;

    (void)state;
    nack = peer_stage_reply(&call, CLUSTER_FRAME_NACK);
    nack.reason = CLUSTER_NACK_MOVED;
    nack.epoch = 1;
    nack.lineage = cluster_ids_lineage(1, 7);
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    call = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    assert_int_equal(call.lineage, cluster_ids_lineage(1, 7));
    assert_false(call.maybe);
    assert_int_equal(peer_stage_call(&stage, 2, 3).lineage, cluster_ids_lineage(1, 7));
    for (uint32_t i = 0; i < 10; i++) { /* one that says something else each time is not believed */
        nack = peer_stage_reply(&call, CLUSTER_FRAME_NACK);
        nack.reason = CLUSTER_NACK_MOVED;
        nack.epoch = 1;
        nack.lineage = cluster_ids_lineage(1, 8 + i);
        assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
        if (i >= CLUSTER_LOOK_AT_ONCE - 1)
            break;
        call = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    }
    peer_stage_silent(&stage);
}

/* r[verify cluster.peer.send] r[verify cluster.peer.nack] */
static void a_refused_call_waits_for_the_map_that_the_refusal_names(void **state)
{
    static const uint32_t moved[STAGE_CONTAINERS] = {1, 2, 2, 2};
    struct cluster_peer_frame nack = peer_stage_call(&stage, 1, 3);

    (void)state;
    nack = peer_stage_reply(&nack, CLUSTER_FRAME_NACK);
    nack.reason = CLUSTER_NACK_MOVED;
    nack.owner = 2;
    nack.revision = STAGE_REVISION + 9;
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    for (int i = 0; i < 9; i++) {
        peer_stage_pass(&stage, 100);
        peer_stage_silent(&stage);
    }
    peer_stage_map(&stage, STAGE_REVISION + 9, moved, 2);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 2)->token,
                     cluster_ids_token(0, 2, 0));
}

/* r[verify cluster.peer.send] */
static void a_map_that_never_comes_is_not_waited_for(void **state)
{
    struct cluster_peer_frame nack = peer_stage_call(&stage, 1, 3);
    unsigned sent = 0;

    (void)state;
    nack = peer_stage_reply(&nack, CLUSTER_FRAME_NACK);
    nack.reason = CLUSTER_NACK_BEHIND;
    nack.revision = CLUSTER_OWN_REVISION_MAX;
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    for (int i = 0; i < 28 && sent == 0; i++) {
        peer_stage_pass(&stage, 100);
        for (uint32_t at = 0; at < stage.out.count; at++)
            sent += stage.out.effects[at].kind == CLUSTER_EFFECT_SEND;
    }
    assert_int_equal(sent, 1);
    assert_true(stage.now >= 2 * STAGE_SECOND);
}

static void refused(uint64_t number, uint8_t reason, int status)
{
    struct cluster_peer_frame nack = peer_stage_call(&stage, number, 3);

    nack = peer_stage_reply(&nack, CLUSTER_FRAME_NACK);
    nack.reason = reason;
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    if (status != 0)
        peer_stage_answered(&stage, number, status);
    else
        peer_stage_silent(&stage);
}

/* r[verify cluster.peer.nack] */
static void refusals_end_a_call_or_have_it_sent_again(void **state)
{
    (void)state;
    refused(1, CLUSTER_NACK_MAYBE, RAPAHUB_EMAYBE);
    refused(2, CLUSTER_NACK_EXPIRED, RAPAHUB_ETIMEDOUT);
    refused(3, CLUSTER_NACK_HOPS, RAPAHUB_EHOPS);
    refused(4, CLUSTER_NACK_BUSY, 0);
    refused(5, CLUSTER_NACK_ORDER, 0);
    refused(6, CLUSTER_NACK_UNKNOWN, 0);
    refused(7, CLUSTER_NACK_VERSION, 0);
    refused(8, CLUSTER_NACK_FENCED, 0);
    peer_stage_pass(&stage, 10); /* the first delay is shorter, by chance or not */
    peer_stage_pass(&stage, 10);
    stage.now = 4 * STAGE_SECOND;
    (void)peer_stage_tell(&stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_ANSWER, 5);
}

/* r[verify cluster.peer.nack] */
static void a_call_that_was_lost_on_the_way_may_have_run(void **state)
{
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3), nack;

    (void)state;
    nack = peer_stage_reply(&call, CLUSTER_FRAME_NACK);
    nack.reason = CLUSTER_NACK_LOST;
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    assert_true(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3)->maybe);
}

/* r[verify cluster.peer.token] */
static void an_answer_of_an_epoch_that_is_over_is_none(void **state)
{
    static const uint32_t owners[STAGE_CONTAINERS] = {1, 2, 2, 3};
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3), result;

    (void)state;
    result = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    result.token = 0;
    assert_int_equal(peer_stage_arrive(&stage, &result, "no life"), 0);
    call = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    assert_true(call.maybe);
    peer_stage_map(&stage, STAGE_REVISION + 1, owners, 2);
    result = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &result, "old"), 0);
    call = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    assert_true(call.maybe);
    assert_int_equal(call.lineage, cluster_ids_lineage(1, 0));
    assert_int_equal(call.token, cluster_ids_token(0, 2, 0));
    result = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &result, "new"), 0);
    peer_stage_answered(&stage, 1, 0);
}

/* r[verify cluster.peer.cancel] r[verify cluster.peer.once] */
static void a_call_that_ends_early_is_cancelled_there(void **state)
{
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3);

    (void)state;
    assert_int_equal(
        peer_stage_tell(&stage, (struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = 1}),
        0);
    peer_stage_answered(&stage, 1, RAPAHUB_ECANCELED);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CANCEL, 3)->attempt, call.attempt);
    call = peer_stage_call(&stage, 2, 3);
    stage.now = 4 * STAGE_SECOND;
    (void)peer_stage_tell(&stage, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    peer_stage_answered(&stage, 2, RAPAHUB_ETIMEDOUT);
    (void)peer_stage_sent(&stage, CLUSTER_FRAME_CANCEL, 3);
}

/* A client sends again while its call is under way. r[verify cluster.peer.once] */
static void two_calls_of_one_uid_have_one_answer(void **state)
{
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3);
    struct cluster_send_call second = peer_stage_asked(1, 3), other = second;

    (void)state;
    second.number = 2;
    second.maybe = true;
    assert_int_equal(peer_stage_ask(&stage, &second), 0);
    peer_stage_silent(&stage);
    other.number = 3;
    other.digest = 9;
    assert_int_equal(peer_stage_ask(&stage, &other), 0);
    peer_stage_answered(&stage, 3, RAPAHUB_EMAYBE);
    assert_int_equal(
        peer_stage_tell(&stage, (struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = 1}),
        0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_SEND, 0); /* the other one still waits */
    second.number = 4;
    assert_int_equal(peer_stage_ask(&stage, &second), 0);
    call = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &call, "both"), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_ANSWER, 2);
}

/* r[verify cluster.peer.once] */
static void two_calls_of_one_uid_are_refused_together(void **state)
{
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3), nack;
    struct cluster_send_call second = peer_stage_asked(1, 3);

    (void)state;
    second.number = 2;
    assert_int_equal(peer_stage_ask(&stage, &second), 0);
    nack = peer_stage_reply(&call, CLUSTER_FRAME_NACK);
    nack.reason = CLUSTER_NACK_LOST;
    assert_int_equal(peer_stage_arrive(&stage, &nack, ""), 0);
    call = *peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3);
    call = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &call, "both"), 0);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_ANSWER, 2);
}

/* r[verify cluster.peer.order] */
static void calls_of_one_order_say_which_comes_before(void **state)
{
    struct cluster_send_call asked = peer_stage_asked(5, 3);

    (void)state;
    asked.order = 2;
    asked.order_previous = 3;
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3)->order_previous, 3);
    asked.number = asked.uid.number = 8;
    asked.order_previous = 0;
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3)->order_previous, 5);
    asked.number = asked.uid.number = 9;
    asked.order = 1;
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 3)->order_previous, 0);
}

/* r[verify cluster.peer.bounds] */
static void no_more_calls_than_may_be_are_under_way_to_a_node(void **state)
{
    const struct cluster_send_call asked = peer_stage_asked(9, 1);
    struct cluster_peer_frame call = {.node = 0};

    (void)state;
    for (uint64_t i = 1; i <= peer_stage_limits.peer_calls; i++)
        call = peer_stage_call(&stage, i, 2);
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    peer_stage_silent(&stage);
    call = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    peer_stage_pass(&stage, 20);
    assert_int_equal(peer_stage_sent(&stage, CLUSTER_FRAME_CALL, 2)->uid.number, 9);
    assert_int_equal(peer_stage_link(&stage, 4, CLUSTER_PEER_UP, 44), RAPAHUB_EFULL);
}

/* r[verify cluster.peer.frames] */
static void frames_of_a_node_without_a_link_are_refused(void **state)
{
    struct cluster_peer_frame call = peer_stage_call(&stage, 1, 3);

    (void)state;
    call = peer_stage_reply(&call, CLUSTER_FRAME_RESULT);
    call.node = 4;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), RAPAHUB_ESTATE);
    assert_int_equal(peer_stage_link(&stage, 3, CLUSTER_PEER_LEFT, 0), 0);
    call.node = 3;
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), RAPAHUB_ESTATE);
    call.node = 2; /* an answer of another node than the one that was asked */
    assert_int_equal(peer_stage_arrive(&stage, &call, ""), 0);
    peer_stage_silent(&stage);
}

/* r[verify cluster.peer.streams] */
static void a_call_with_streams_stays_on_its_node(void **state)
{
    struct cluster_send_call asked = peer_stage_asked(1, 1);
    uint64_t run;

    (void)state;
    asked.streams = true;
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    peer_stage_answered(&stage, 1, RAPAHUB_ENOTLOCAL);
    (void)peer_stage_effect(&stage, CLUSTER_EFFECT_SEND, 0);
    asked = peer_stage_asked(2, 0);
    asked.streams = true;
    assert_int_equal(peer_stage_ask(&stage, &asked), 0);
    run = peer_stage_effect(&stage, CLUSTER_EFFECT_RUN, 1)->id;
    peer_stage_end_run(&stage, run, "world");
    peer_stage_answered(&stage, 2, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        TEST(a_call_is_sent_and_its_caller_is_told_once),
        TEST(a_broadcast_goes_to_all_nodes),
        TEST(a_call_to_a_node_stays_there),
        TEST(a_call_whose_link_is_lost_is_sent_again_to_the_same_lineage),
        TEST(a_refusal_says_which_lineage_admits_calls),
        TEST(a_refused_call_waits_for_the_map_that_the_refusal_names),
        TEST(a_map_that_never_comes_is_not_waited_for),
        TEST(refusals_end_a_call_or_have_it_sent_again),
        TEST(a_call_that_was_lost_on_the_way_may_have_run),
        TEST(an_answer_of_an_epoch_that_is_over_is_none),
        TEST(a_call_that_ends_early_is_cancelled_there),
        TEST(two_calls_of_one_uid_have_one_answer),
        TEST(two_calls_of_one_uid_are_refused_together),
        TEST(calls_of_one_order_say_which_comes_before),
        TEST(no_more_calls_than_may_be_are_under_way_to_a_node),
        TEST(frames_of_a_node_without_a_link_are_refused),
        TEST(a_call_with_streams_stays_on_its_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
