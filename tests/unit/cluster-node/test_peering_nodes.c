/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between two nodes, whose link is cut, is full, or is slow. */
#include "tests/unit/cluster-node/two_cores.h"

/* Node 1 calls container 1. */
static void call(uint64_t number, size_t size, uint64_t timeout_ns)
{
    struct cluster_send_call asked = {.number = number,
                                      .pool = POOL,
                                      .query = {.offset = 1},
                                      .uid = {11, number},
                                      .method = METHOD,
                                      .reserve = 100,
                                      .deadline_ns = hub_clock_after(timeout_ns)};

    assert_int_equal(
        cluster_buffers_keep(nodes[0].buffers, (struct rapahub_bytes){large, size}, &asked.body),
        0);
    assert_int_equal(
        tell(&nodes[0], (struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = &asked}), 0);
}

/* Ends runs as they come, until node 1 has an answer. */
static void finish(struct rapahub_bytes answer)
{
    uint64_t until = hub_clock_after(WAIT_NS);

    while (nodes[0].answers == 0) {
        assert_true(hub_clock_now() < until);
        settle();
        end_runs(&nodes[1], answer);
    }
    settle();
}

static const struct rapahub_bytes world = {"world", 5};

static void ended_well(unsigned runs)
{
    const struct cluster_dispatch *parts = cluster_core_parts(nodes[1].core);

    assert_int_equal(nodes[0].answers, 1);
    assert_int_equal(nodes[0].status, 0);
    assert_int_equal(nodes[0].answer_size, 5);
    assert_memory_equal(nodes[0].answer, "world", 5);
    assert_int_equal(cluster_dedup_figures(parts->dedup, POOL, 1).calls, runs);
}

/* ---- a call ---- */

/* r[verify cluster.node.frames] r[verify cluster.peer.send] */
static void a_call_goes_to_the_other_node_and_its_answer_back(void **state)
{
    (void)state;
    call(1, 100, WAIT_NS);
    settle();
    assert_int_equal(nodes[1].runs_count, 1);
    assert_int_equal(nodes[1].run_size, 100);
    assert_int_equal(nodes[0].answers, 0);
    finish(world);
    ended_well(1);
}

/* r[verify cluster.node.frames] r[verify cluster.node.bodies] */
static void large_bodies_go_both_ways(void **state)
{
    (void)state;
    call(1, sizeof large, WAIT_NS);
    settle();
    assert_int_equal(nodes[1].run_size, sizeof large);
    finish((struct rapahub_bytes){large, sizeof large});
    assert_int_equal(nodes[0].answer_size, sizeof large);
    assert_memory_equal(nodes[0].answer, large, sizeof large);
    turn_both();
    assert_int_equal(cluster_buffers_figures(nodes[0].buffers).count, 0);
    assert_int_equal(cluster_buffers_figures(nodes[1].buffers).count, 1); /* kept for a repeat */
}

/* ---- the link is cut ---- */

/* r[verify cluster.peer.lost] */
static void a_call_whose_frame_is_lost_runs_once(void **state)
{
    (void)state;
    call(1, 100, WAIT_NS);
    cut();
    turn_both();
    assert_int_equal(nodes[1].runs_count, 0);
    mend();
    finish(world);
    ended_well(1);
}

/* r[verify cluster.peer.lost] */
static void a_call_that_runs_when_the_link_is_lost_has_that_answer(void **state)
{
    (void)state;
    call(1, 100, WAIT_NS);
    settle();
    assert_int_equal(nodes[1].runs_count, 1);
    cut();
    turn_both();
    mend();
    settle();
    assert_int_equal(nodes[1].runs_count, 1); /* the same */
    finish(world);
    ended_well(1);
}

/* r[verify cluster.peer.lost] */
static void an_answer_that_is_lost_is_given_again(void **state)
{
    (void)state;
    call(1, 100, WAIT_NS);
    settle();
    end_runs(&nodes[1], world);
    turn(&nodes[1]);
    cut();
    turn_both();
    assert_int_equal(nodes[0].answers, 0);
    mend();
    settle();
    assert_int_equal(nodes[1].runs_count, 0);
    ended_well(1);
}

/* r[verify cluster.peer.send] */
static void a_call_waits_for_a_link_that_is_down(void **state)
{
    (void)state;
    cut();
    turn_both();
    call(1, 100, WAIT_NS);
    settle();
    assert_int_equal(nodes[0].answers + nodes[1].runs_count, 0);
    mend();
    finish(world);
    ended_well(1);
}

/* ---- there is no room ---- */

/* r[verify cluster.node.unsent] */
static void a_call_for_which_the_link_is_full_is_sent_again(void **state)
{
    (void)state;
    nodes[0].full = 2;
    call(1, 100, WAIT_NS);
    finish(world);
    assert_int_equal(nodes[0].full, 0);
    assert_true(up);
    ended_well(1);
}

/* r[verify cluster.node.unsent] */
static void an_answer_for_which_the_link_is_full_is_given_again(void **state)
{
    (void)state;
    call(1, 100, WAIT_NS);
    settle();
    nodes[1].full = 1;
    end_runs(&nodes[1], world);
    turn_both();
    assert_false(up);
    assert_int_equal(nodes[0].answers, 0);
    mend();
    settle();
    ended_well(1);
}

/* r[verify cluster.node.frames] */
static void a_frame_that_the_core_refuses_ends_the_link(void **state)
{
    const struct cluster_peer_frame call_of_3 = {
        .node = 3, .type = CLUSTER_FRAME_CANCEL, .uid = {33, 1}, .pool = POOL};
    struct cluster_frame header;
    struct hub_writer writer;

    (void)state;
    hub_writer_count(&writer);
    assert_int_equal(
        cluster_peer_frame_put(&call_of_3, (struct rapahub_bytes){NULL, 0}, 0, &header, &writer),
        0);
    cluster_peering_lost(nodes[0].peering, 2);
    assert_int_equal(
        cluster_peering_frame(nodes[0].peering, 2, &header, (struct rapahub_bytes){NULL, 0}), 0);
    turn_both();
    assert_int_equal(nodes[0].refused, 1);
    assert_false(up);
}

/* ---- ends ---- */

/* r[verify cluster.peer.cancel] */
static void a_call_that_is_cancelled_ends_on_both_nodes(void **state)
{
    (void)state;
    call(1, 100, WAIT_NS);
    settle();
    assert_int_equal(
        tell(&nodes[0], (struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = 1}), 0);
    assert_int_equal(nodes[0].answers, 1);
    assert_int_equal(nodes[0].status, RAPAHUB_ECANCELED);
    settle();
    assert_int_equal(cluster_send_figures(cluster_core_parts(nodes[1].core)->send).calls, 0);
    end_runs(&nodes[1], world);
    settle();
    assert_int_equal(nodes[0].answers, 1);
}

/* r[verify cluster.peer.once] */
static void a_call_ends_at_its_deadline_on_both_nodes(void **state)
{
    uint64_t until = hub_clock_after(WAIT_NS);

    (void)state;
    call(1, 100, 50 * HUB_MILLISECOND);
    deliver_one(&nodes[0]);
    while (nodes[0].answers == 0 ||
           cluster_send_figures(cluster_core_parts(nodes[1].core)->send).calls > 0) {
        assert_true(hub_clock_now() < until);
        turn_both();
    }
    settle();
    assert_int_equal(nodes[0].answers, 1);
    assert_int_equal(nodes[0].status, RAPAHUB_ETIMEDOUT);
    end_runs(&nodes[1], world);
    settle();
    assert_int_equal(nodes[0].answers, 1);
}

/* r[verify cluster.peer.once] */
static void a_call_to_a_node_that_does_not_come_back_ends_at_its_deadline(void **state)
{
    uint64_t until = hub_clock_after(WAIT_NS);

    (void)state;
    call(1, 100, 50 * HUB_MILLISECOND);
    settle();
    cut();
    while (nodes[0].answers == 0) {
        assert_true(hub_clock_now() < until);
        turn_both();
    }
    assert_true(nodes[0].status < 0);
    end_runs(&nodes[1], world);
    turn_both();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {
        TEST(a_call_goes_to_the_other_node_and_its_answer_back),
        TEST(large_bodies_go_both_ways),
        TEST(a_call_whose_frame_is_lost_runs_once),
        TEST(a_call_that_runs_when_the_link_is_lost_has_that_answer),
        TEST(an_answer_that_is_lost_is_given_again),
        TEST(a_call_waits_for_a_link_that_is_down),
        TEST(a_call_for_which_the_link_is_full_is_sent_again),
        TEST(an_answer_for_which_the_link_is_full_is_given_again),
        TEST(a_frame_that_the_core_refuses_ends_the_link),
        TEST(a_call_that_is_cancelled_ends_on_both_nodes),
        TEST(a_call_ends_at_its_deadline_on_both_nodes),
        TEST(a_call_to_a_node_that_does_not_come_back_ends_at_its_deadline)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
