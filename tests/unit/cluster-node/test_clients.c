/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/pause.h"
#include "tests/unit/cluster-node/client_end.h"

/* r[verify cluster.client.hello] */
static void a_client_says_who_it_is_and_hears_the_session(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    assert_int_equal(program.frame.type, CLUSTER_FRAME_HELLO_OK);
    assert_int_equal(program.body.hello.origin, SESSION);
    assert_int_equal(program.body.hello.node, 4);
    assert_int_equal(program.body.hello.boot, 2);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 1);
    assert_int_equal(cluster_clients_figures(node->clients).origins, 1);
    disconnect(node, &program);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 0);
}

static void a_call_goes_to_the_core_and_its_end_comes_back(void **state)
{
    struct node *node = *state;
    struct program program;
    uint64_t now_ns = hub_clock_now();

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(node->begun, 1);
    assert_int_equal(node->frame.uid.origin, ORIGIN(1));
    assert_int_equal(node->frame.pool, POOL);
    assert_int_equal(node->body.method_id, 9);
    assert_int_equal(node->call.role, RAPAHUB_CONTROL_ADMIN);
    assert_int_equal(node->call.who->uid, geteuid());
    assert_int_equal(node->call.peer, (uint64_t)geteuid() + 1);
    assert_true(node->call.deadline_ns >= now_ns + 10 * HUB_SECOND);
    assert_true(node->call.deadline_ns < now_ns + 11 * HUB_SECOND);
    answer(node, 0, "result");
    settle(node, &program);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.frame.uid.number, 1);
    assert_int_equal(program.body.result.status, 0);
    assert_int_equal(program.body.result.lineage, 3u << 16);
    assert_int_equal(program.payload_size, 6);
    disconnect(node, &program);
}

static void an_answer_may_come_before_the_call_has_begun(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    node->answer_at_once = true;
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.payload_size, 3);
    disconnect(node, &program);
}

static void a_call_that_the_core_refuses_ends(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    node->refuse = RAPAHUB_ENOMETHOD;
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.body.result.status, RAPAHUB_ENOMETHOD);
    assert_string_equal(program.text, "the core says no");
    node->refuse = 0;
    node->members = RAPAHUB_ENOPOOL;
    put_call(&program, ORIGIN(1), 2);
    settle(node, &program);
    assert_int_equal(program.results, 2);
    assert_int_equal(program.body.result.status, RAPAHUB_ENOPOOL);
    assert_string_equal(program.text, "no such pool");
    assert_int_equal(node->begun, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.kept] */
static void an_end_is_kept_until_the_client_has_it(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    answer(node, 0, "result");
    settle(node, &program);
    assert_int_equal(cluster_clients_figures(node->clients).calls, 1);
    assert_true(cluster_clients_figures(node->clients).kept_bytes > 6);
    put_call(&program, ORIGIN(1), 1); /* sent again: the same end, and it does not run again */
    settle(node, &program);
    assert_int_equal(node->begun, 1);
    assert_int_equal(program.results, 2);
    put_of_call(&program, CLUSTER_FRAME_ACK, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(cluster_clients_figures(node->clients).calls, 0);
    assert_int_equal(cluster_clients_figures(node->clients).kept_bytes, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.kept] */
static void a_client_that_comes_again_finds_its_calls(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    put_call(&program, ORIGIN(1), 2);
    settle(node, &program);
    assert_int_equal(node->begun, 2);
    disconnect(node, &program);
    assert_int_equal(node->cancelled, 0);
    answer(node, 0, "while it was away");
    come(node, &program, ORIGIN(1));
    assert_int_equal(program.results, 0); /* it asks for what it wants */
    put_call(&program, ORIGIN(1), 1);
    put_call(&program, ORIGIN(1), 2);
    settle(node, &program);
    assert_int_equal(node->begun, 2);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.frame.uid.number, 1);
    answer(node, 1, "when it was here");
    settle(node, &program);
    assert_int_equal(program.results, 2);
    disconnect(node, &program);
}

static void a_newer_connection_takes_the_place_of_the_older(void **state)
{
    struct node *node = *state;
    struct program older, newer;

    come(node, &older, ORIGIN(1));
    put_call(&older, ORIGIN(1), 1);
    settle(node, &older);
    come(node, &newer, ORIGIN(1));
    settle(node, &older);
    assert_int_equal(older.over, RAPAHUB_ECLOSED);
    put_call(&newer, ORIGIN(1), 1);
    settle(node, &newer);
    answer(node, 0, "x");
    settle(node, &newer);
    assert_int_equal(newer.results, 1);
    assert_int_equal(older.results, 0);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 1);
    disconnect(node, &older);
    disconnect(node, &newer);
}

/* r[verify cluster.client.resolved] */
static void a_client_is_told_where_its_call_goes_before_it_begins(void **state)
{
    struct node *node = *state;
    struct program program;
    unsigned pings = 0;

    come(node, &program, ORIGIN(1));
    node->members = 2;
    /* What waits for a client that does not read keeps its call from being admitted. */
    while (pings < 20000) {
        put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_PING},
            &(struct cluster_body){0});
        pings++;
    }
    put_call(&program, ORIGIN(1), 1);
    for (unsigned i = 0; i < 2000; i++) {
        assert_int_equal(cluster_connection_flush(program.connection), 0);
        serve(node);
    }
    assert_false(cluster_connection_waits(program.connection));
    assert_int_equal(node->resolved, 1);
    assert_int_equal(node->begun, 0);
    settle(node, &program);
    assert_int_equal(program.resolved, 1);
    assert_int_equal(node->begun, 1);
    assert_int_equal(node->resolved, 1);
    assert_int_equal(node->call.members_count, 2);
    assert_int_equal(node->first_member, 5);
    disconnect(node, &program);
}

/* r[verify cluster.client.resolved] */
static void a_client_that_knows_where_its_call_goes_is_not_told(void **state)
{
    static const struct cluster_body_member members[] = {{7, 4u << 16}, {8, 0}};
    const struct cluster_body body = {.call = {.left_us = 1000000,
                                               .method_id = 9,
                                               .maybe = true,
                                               .members = {.of = members, .count = 2}}};
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    node->members = 2;
    put(&program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 1), &body);
    settle(node, &program);
    assert_int_equal(node->resolved, 0);
    assert_int_equal(program.resolved, 0);
    assert_int_equal(node->begun, 1);
    assert_true(node->body.maybe);
    assert_int_equal(node->call.members_count, 2);
    assert_int_equal(node->first_member, 7);
    assert_int_equal(node->first_lineage, 4u << 16);
    disconnect(node, &program);
}

static void put_guess(struct program *program, uint64_t number,
                      const struct cluster_body_member *member)
{
    const struct cluster_body body = {
        .call = {.left_us = 1000000, .method_id = 9, .members = {.of = member, .count = 1}}};

    put(program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), number), &body);
}

/* The node looks itself where the call goes. r[verify cluster.client.resolved] */
static void a_client_that_guesses_is_told_only_where_it_is_wrong(void **state)
{
    static const struct cluster_body_member guesses[] = {{5, 3u << 16}, {6, 3u << 16}, {5, 0}};
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    node->members = 1;
    for (unsigned i = 0; i < 3; i++) { /* the first is right */
        put_guess(&program, i + 1, &guesses[i]);
        settle(node, &program);
        assert_int_equal(node->begun, i + 1);
        assert_int_equal(program.resolved, i);
    }
    assert_int_equal(node->call.members_count, 1);
    assert_int_equal(node->first_member, 5);
    assert_int_equal(node->first_lineage, 3u << 16);
    disconnect(node, &program);
}

static void each_end_of_a_call_to_several_comes(void **state)
{
    struct node *node = *state;
    struct cluster_clients_answer one = {.container = 6, .replica = 1, .payload = {"ab", 2}};
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_true(cluster_clients_each(node->clients, node->numbers[0], &one));
    settle(node, &program);
    assert_int_equal(program.each, 1);
    assert_int_equal(program.frame.container, 6);
    assert_int_equal(program.frame.replica, 1);
    disconnect(node, &program);
    one.replica = 0;
    assert_true(cluster_clients_each(node->clients, node->numbers[0], &one));
    answer(node, 0, "");
    assert_false(cluster_clients_each(node->clients, node->numbers[0], &one));
    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(program.each, 2);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.frame.type, CLUSTER_FRAME_RESULT);
    disconnect(node, &program);
}

static void a_cancel_reaches_the_core_and_a_late_answer_nobody(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    put_of_call(&program, CLUSTER_FRAME_CANCEL, ORIGIN(1), 99); /* there is none */
    settle(node, &program);
    assert_int_equal(node->cancelled, 0);
    put_of_call(&program, CLUSTER_FRAME_ACK, ORIGIN(1), 1); /* it has not ended */
    put_of_call(&program, CLUSTER_FRAME_CANCEL, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(node->cancelled, 1);
    assert_int_equal(node->last_cancelled, node->numbers[0]);
    assert_false(cluster_clients_answer(node->clients, node->numbers[0],
                                        &(struct cluster_clients_answer){.status = 0}));
    settle(node, &program);
    assert_int_equal(program.results, 0);
    assert_int_equal(cluster_clients_figures(node->clients).calls, 0);
    disconnect(node, &program);
}

static void what_a_client_says_has_ended_is_forgotten(void **state)
{
    struct node *node = *state;
    struct cluster_body body = {.call = {.left_us = 1000000, .method_id = 9, .done_below = 3}};
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    put_call(&program, ORIGIN(1), 2);
    settle(node, &program);
    answer(node, 0, "x");
    put(&program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 3), &body);
    settle(node, &program);
    assert_int_equal(node->begun, 3);
    assert_int_equal(node->body.done_below, 3);
    assert_int_equal(node->cancelled, 1); /* the second still ran */
    assert_int_equal(cluster_clients_figures(node->clients).calls, 1);
    put_call(&program, ORIGIN(1), 2);
    settle(node, &program);
    assert_int_equal(program.over, RAPAHUB_ECLOSED);
    assert_int_equal(times_broken(node, "cluster.dedup.ended"), 1);
    disconnect(node, &program);
}

static void a_call_whose_time_is_over_is_not_begun(void **state)
{
    const struct cluster_body body = {.call = {.method_id = 9}};
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put(&program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 3), &body);
    settle(node, &program);
    assert_int_equal(program.nacks, 1);
    assert_int_equal(program.body.nack.reason, CLUSTER_NACK_EXPIRED);
    assert_int_equal(node->begun, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.ends] */
static void an_origin_ends_some_time_after_its_client(void **state)
{
    struct node *node = *state;
    struct cluster_body body = hello_of(ORIGIN(1));
    struct program program;
    uint64_t then;

    body.hello.retry_ns = 200 * HUB_MILLISECOND;
    connect_program(node, &program);
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, &body);
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    pause_ms(450); /* its time is not over while it is connected, however long it says nothing */
    serve(node);
    assert_int_equal(node->ended, 0);
    then = hub_clock_now();
    disconnect(node, &program);
    while (node->ended == 0 && hub_clock_now() - then < 20 * HUB_SECOND) {
        pause_ms(1);
        serve(node);
    }
    assert_true(hub_clock_now() - then >= 400 * HUB_MILLISECOND);
    assert_int_equal(node->ended, 1);
    assert_int_equal(node->last_ended, ORIGIN(1));
    assert_int_equal(node->cancelled, 1);
    assert_int_equal(cluster_clients_figures(node->clients).origins, 0);
}

/* r[verify cluster.client.ends] */
static void a_client_that_closes_ends_its_origin(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_CLOSE}, &(struct cluster_body){0});
    settle(node, &program);
    assert_int_equal(node->ended, 1);
    assert_int_equal(node->cancelled, 1);
    assert_int_equal(program.over, RAPAHUB_ECLOSED);
    assert_int_equal(cluster_clients_figures(node->clients).calls, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.role] */
static void a_viewer_calls_no_pool(void **state)
{
    struct node *node = *state;
    struct cluster_frame frame = frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 2);
    const struct cluster_body body = {.call = {.left_us = 1000000, .method_id = 9}};
    struct program program;

    next_peer = (struct host_role_peer){4711, RAPAHUB_CONTROL_VIEWER};
    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(program.body.result.status, RAPAHUB_EACCES);
    assert_int_equal(node->begun, 0);
    frame.pool = OFFER; /* who may do what there is not for this room to say */
    put(&program, frame, &body);
    settle(node, &program);
    assert_int_equal(node->begun, 1);
    assert_int_equal(node->call.role, RAPAHUB_CONTROL_VIEWER);
    assert_int_equal(node->call.who->uid, 4711);
    assert_int_equal(node->call.peer, 4712);
    disconnect(node, &program);
}

static void texts_are_cut_and_cleaned(void **state)
{
    struct node *node = *state;
    struct program program;
    char text[3000];

    memset(text, 'x', sizeof text);
    memcpy(text, "bad \xff end", 9);
    text[sizeof text - 1] = '\0';
    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_true(cluster_clients_answer(
        node->clients, node->numbers[0],
        &(struct cluster_clients_answer){
            .status = RAPAHUB_EAPPLICATION, .application = -7, .text = text}));
    settle(node, &program);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.body.result.application, -7);
    assert_int_equal(program.body.result.text.size, CLUSTER_BODY_TEXT_MAX);
    assert_memory_equal(program.text, "bad ? end", 9);
    disconnect(node, &program);
}

static void an_answer_that_is_too_large_is_a_failure(void **state)
{
    struct node *node = *state;
    struct program program;
    char *large = calloc(1, 65u << 20);

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_true(
        cluster_clients_answer(node->clients, node->numbers[0],
                               &(struct cluster_clients_answer){.payload = {large, 65u << 20}}));
    settle(node, &program);
    assert_int_equal(program.body.result.status, RAPAHUB_EMSGSIZE);
    disconnect(node, &program);
    free(large);
}

static void a_second_node_at_the_socket_is_refused(void **state)
{
    struct node *node = *state;
    const struct cluster_clients_options options = {
        .path = node->path, .cluster = uuid, .session = 1, .hooks = &node_hooks};
    struct cluster_clients *second = NULL;

    assert_int_equal(cluster_clients_open(&options, &second), RAPAHUB_EEXIST);
    assert_null(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_says_who_it_is_and_hears_the_session),
        TEST(a_call_goes_to_the_core_and_its_end_comes_back),
        TEST(an_answer_may_come_before_the_call_has_begun),
        TEST(a_call_that_the_core_refuses_ends),
        TEST(an_end_is_kept_until_the_client_has_it),
        TEST(a_client_that_comes_again_finds_its_calls),
        TEST(a_newer_connection_takes_the_place_of_the_older),
        TEST(a_client_is_told_where_its_call_goes_before_it_begins),
        TEST(a_client_that_knows_where_its_call_goes_is_not_told),
        TEST(a_client_that_guesses_is_told_only_where_it_is_wrong),
        TEST(each_end_of_a_call_to_several_comes),
        TEST(a_cancel_reaches_the_core_and_a_late_answer_nobody),
        TEST(what_a_client_says_has_ended_is_forgotten),
        TEST(a_call_whose_time_is_over_is_not_begun),
        TEST(an_origin_ends_some_time_after_its_client),
        TEST(a_client_that_closes_ends_its_origin),
        TEST(a_viewer_calls_no_pool),
        TEST(texts_are_cut_and_cleaned),
        TEST(an_answer_that_is_too_large_is_a_failure),
        TEST(a_second_node_at_the_socket_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
