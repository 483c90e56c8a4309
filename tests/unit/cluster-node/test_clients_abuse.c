/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that keep to no rule, or want more than their share. */
#include "hub/base/random.h"
#include "tests/support/pause.h"
#include "tests/unit/cluster-node/client_end.h"

/* All spans from now are so many times shorter. */
static _Thread_local unsigned shorter = 1; /* other threads wait as ever */
static _Thread_local uint64_t span_asked_ns;

uint64_t __real_hub_clock_after(uint64_t span_ns);
uint64_t __wrap_hub_clock_after(uint64_t span_ns);

uint64_t __wrap_hub_clock_after(uint64_t span_ns)
{
    span_asked_ns = span_ns;
    return __real_hub_clock_after(span_ns / shorter);
}

/* A client that behaves is served whatever others do. */
static void is_well(struct node *node, uint64_t origin)
{
    const struct host_role_peer peer = next_peer;
    struct program program;

    next_peer = (struct host_role_peer){geteuid(), RAPAHUB_CONTROL_ADMIN};
    node->answer_at_once = true;
    come(node, &program, origin);
    put_call(&program, origin, 1);
    settle(node, &program);
    assert_int_equal(program.results, 1);
    disconnect(node, &program);
    node->answer_at_once = false;
    next_peer = peer;
}

static void is_cut_off(struct node *node, struct program *program, const char *rule)
{
    uint64_t before = times_broken(node, rule);

    settle(node, program);
    assert_int_equal(program->over, RAPAHUB_ECLOSED);
    assert_int_equal(times_broken(node, rule), before + 1);
    disconnect(node, program);
}

/* r[verify cluster.client.hello] r[verify cluster.client.broken] */
static void who_does_not_say_hello_first_is_cut_off(void **state)
{
    struct node *node = *state;
    struct program program;

    connect_program(node, &program);
    put_call(&program, ORIGIN(1), 1);
    is_cut_off(node, &program, "cluster.client.hello");
    come(node, &program, ORIGIN(1));
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_HELLO},
        &(struct cluster_body){.hello = hello_of(ORIGIN(1)).hello});
    is_cut_off(node, &program, "cluster.client.hello");
    assert_int_equal(node->begun, 0);
    is_well(node, ORIGIN(9));
}

/* r[verify cluster.client.hello] */
static void who_says_nothing_is_cut_off(void **state)
{
    struct node *node = *state;
    uint64_t then = hub_clock_now();
    struct program program;

    shorter = 50;
    connect_program(node, &program);
    serve(node);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 1);
    assert_int_equal(span_asked_ns, 5 * HUB_SECOND);
    while (cluster_clients_figures(node->clients).connections > 0 &&
           hub_clock_now() - then < 30 * HUB_SECOND) {
        pause_ms(10);
        serve(node);
    }
    assert_true(hub_clock_now() - then >= 5 * HUB_SECOND / shorter);
    shorter = 1;
    is_well(node, ORIGIN(9));
    assert_int_equal(times_broken(node, "cluster.client.hello"), 1);
    disconnect(node, &program);
}

static void refused_hello(struct node *node, const struct cluster_body *body, int code,
                          const char *rule)
{
    struct program program;

    connect_program(node, &program);
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, body);
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(program.helloed, 0);
    assert_int_equal(program.closes, 1);
    assert_int_equal(program.body.close.code, code);
    assert_int_equal(program.over, RAPAHUB_ECLOSED);
    assert_true(times_broken(node, rule) > 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.hello] */
static void who_is_no_client_of_this_node_is_told_so(void **state)
{
    struct node *node = *state;
    struct cluster_body body = hello_of(ORIGIN(1));

    body.hello.protocol_least = body.hello.protocol_most = 2;
    refused_hello(node, &body, RAPAHUB_EABI, "cluster.client.hello");
    body = hello_of(ORIGIN(1));
    body.hello.cluster = (struct rapahub_bytes){"another cluster!", 16};
    refused_hello(node, &body, RAPAHUB_EINVAL, "cluster.client.hello");
    body = (struct cluster_body){.hello = {.protocol_least = 1,
                                           .protocol_most = 1,
                                           .role = CLUSTER_ROLE_NODE,
                                           .cluster = {uuid, 16},
                                           .node = 1,
                                           .boot = 1,
                                           .origin = 5}};
    refused_hello(node, &body, RAPAHUB_EACCES, "cluster.client.hello");
    assert_int_equal(cluster_clients_figures(node->clients).refused, 3);
    is_well(node, ORIGIN(9));
}

/* r[verify cluster.call.origin] */
static void the_origin_of_another_user_is_refused(void **state)
{
    struct node *node = *state;
    struct cluster_body body = hello_of(ORIGIN(1));
    struct program program;

    next_peer = (struct host_role_peer){1001, RAPAHUB_CONTROL_OPERATOR};
    come(node, &program, ORIGIN(1));
    next_peer = (struct host_role_peer){1002, RAPAHUB_CONTROL_OPERATOR};
    refused_hello(node, &body, RAPAHUB_EACCES, "cluster.call.origin");
    disconnect(node, &program); /* also when its user is away */
    refused_hello(node, &body, RAPAHUB_EACCES, "cluster.call.origin");
    next_peer = (struct host_role_peer){1001, RAPAHUB_CONTROL_OPERATOR};
    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(2), 1); /* nor does a client speak for another one */
    is_cut_off(node, &program, "cluster.call.origin");
}

/* r[verify cluster.client.frame] */
static void frames_of_a_node_are_not_taken(void **state)
{
    static const uint8_t types[] = {CLUSTER_FRAME_RESULT, CLUSTER_FRAME_EACH, CLUSTER_FRAME_NACK,
                                    CLUSTER_FRAME_RESOLVED};
    struct node *node = *state;

    for (size_t i = 0; i < sizeof types; i++) {
        const struct cluster_body body = {
            .nack = {.reason = types[i] == CLUSTER_FRAME_NACK ? CLUSTER_NACK_BUSY : 0}};
        struct program program;

        come(node, &program, ORIGIN(1));
        put(&program, frame_of(types[i], ORIGIN(1), 1), &body);
        is_cut_off(node, &program, "cluster.client.frame");
    }
}

static void a_uid_is_of_one_call_only(void **state)
{
    struct node *node = *state;
    struct cluster_frame frame = frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 1);
    const struct cluster_body body = {.call = {.left_us = 1000000, .method_id = 10}};
    struct program program;

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    put(&program, frame, &body);
    is_cut_off(node, &program, "cluster.dedup.other");
    assert_int_equal(node->begun, 1);
}

/* r[verify cluster.client.bounds] */
static void a_user_of_the_group_has_a_share_of_the_connections(void **state)
{
    struct node *node = *state;
    static struct program programs[64], more;

    next_peer = (struct host_role_peer){1001, RAPAHUB_CONTROL_OPERATOR};
    for (unsigned i = 0; i < 64; i++)
        come(node, &programs[i], ORIGIN(i + 1));
    connect_program(node, &more);
    settle(node, &more);
    assert_int_equal(more.closes, 1);
    assert_int_equal(more.body.close.code, RAPAHUB_EBUSY);
    disconnect(node, &more);
    assert_int_equal(times_broken(node, "cluster.client.bounds"), 1);
    is_well(node, ORIGIN(99));
    next_peer.uid = 1002;
    come(node, &more, ORIGIN(100));
    disconnect(node, &more);
    for (unsigned i = 0; i < 64; i++)
        disconnect(node, &programs[i]);
    come(node, &more, ORIGIN(101));
    disconnect(node, &more);
}

/* r[verify cluster.client.bounds] */
static void no_more_clients_come_than_there_may_be(void **state)
{
    struct node *node = *state;
    struct program more;
    int fds[256];

    for (unsigned i = 0; i < 256; i++) {
        fds[i] = connect_fd(node);
        serve(node);
    }
    assert_int_equal(cluster_clients_figures(node->clients).connections, 256);
    connect_program(node, &more);
    settle(node, &more);
    assert_int_equal(more.body.close.code, RAPAHUB_EBUSY);
    disconnect(node, &more);
    for (unsigned i = 0; i < 256; i++)
        close(fds[i]);
    serve(node);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 0);
    is_well(node, ORIGIN(1));
}

/* r[verify cluster.client.bounds] */
static void a_user_has_a_share_of_the_origins(void **state)
{
    struct node *node = *state;
    struct cluster_body body = hello_of(ORIGIN(5000));

    body.hello.retry_ns = 60 * HUB_SECOND;
    for (uint64_t i = 1; i <= 1024; i++) {
        struct program program;

        connect_program(node, &program);
        body.hello.origin = ORIGIN(i);
        put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_HELLO}, &body);
        assert_int_equal(cluster_connection_flush(program.connection), 0);
        serve(node);
        disconnect(node, &program);
    }
    assert_int_equal(cluster_clients_figures(node->clients).origins, 1024);
    body.hello.origin = ORIGIN(5000);
    refused_hello(node, &body, RAPAHUB_EBUSY, "cluster.client.bounds");
    next_peer.uid++;
    is_well(node, ORIGIN(3)); /* one that is there */
}

/* r[verify cluster.client.bounds] */
static void a_client_has_a_bound_of_calls(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    for (uint64_t i = 1; i <= 4097; i++) {
        put_call(&program, ORIGIN(1), i);
        if (i % 64 == 0)
            settle(node, &program);
    }
    settle(node, &program);
    assert_int_equal(node->begun, 4096);
    assert_int_equal(program.nacks, 1);
    assert_int_equal(program.body.nack.reason, CLUSTER_NACK_BUSY);
    assert_true(program.body.nack.after_ms > 0);
    is_well(node, ORIGIN(2));
    disconnect(node, &program);
}

/* r[verify cluster.client.bounds] */
static void who_takes_no_answers_gets_no_more_calls_and_is_cut_off(void **state)
{
    const size_t size = 4u << 20;
    struct node *node = *state;
    struct program program;
    char *large = calloc(1, size);
    unsigned answered = 0;

    come(node, &program, ORIGIN(1));
    for (uint64_t i = 1; i <= 60; i++)
        put_call(&program, ORIGIN(1), i);
    settle(node, &program);
    assert_int_equal(node->begun, 60);
    for (; answered < 4; answered++)
        assert_true(
            cluster_clients_answer(node->clients, node->numbers[answered],
                                   &(struct cluster_clients_answer){.payload = {large, size}}));
    put_call(&program, ORIGIN(1), 61);
    for (unsigned i = 0; i < 10; i++)
        settle(node, &program);
    assert_int_equal(program.nacks, 1);
    assert_int_equal(program.results, 4); /* it reads, but says nothing of it */
    while (answered < 60 && cluster_clients_figures(node->clients).connections > 0) {
        (void)cluster_clients_answer(node->clients, node->numbers[answered++],
                                     &(struct cluster_clients_answer){.payload = {large, size}});
        serve(node);
    }
    assert_int_equal(cluster_clients_figures(node->clients).connections, 0);
    assert_true(cluster_clients_figures(node->clients).kept_bytes <= 129u << 20);
    assert_int_equal(times_broken(node, "cluster.client.bounds"), 1);
    disconnect(node, &program);
    come(node, &program, ORIGIN(1)); /* the one that was not kept goes to the core again */
    put_call(&program, ORIGIN(1), answered);
    settle(node, &program);
    assert_int_equal(program.nacks, 1); /* once it has taken the others */
    for (uint64_t i = 1; i < answered; i++)
        put_of_call(&program, CLUSTER_FRAME_ACK, ORIGIN(1), i);
    put_call(&program, ORIGIN(1), answered);
    settle(node, &program);
    assert_int_equal(node->begun, 61);
    is_well(node, ORIGIN(2));
    disconnect(node, &program);
    free(large);
}

/* What was lost of a call that still runs ends that run: it begins anew. */
static void a_call_that_lost_an_end_while_it_ran_begins_anew(void **state)
{
    const size_t size = 50u << 20;
    struct node *node = *state;
    struct program program;
    char *large = calloc(1, size);

    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    disconnect(node, &program);
    for (unsigned i = 0; i < 3; i++)
        assert_true(cluster_clients_each(
            node->clients, node->numbers[0],
            &(struct cluster_clients_answer){.replica = i, .payload = {large, size}}));
    come(node, &program, ORIGIN(1));
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(node->begun, 2);
    assert_int_equal(node->cancelled, 1);
    assert_int_equal(node->last_cancelled, node->numbers[0]);
    assert_int_equal(cluster_clients_figures(node->clients).kept_bytes, 0);
    disconnect(node, &program);
    free(large);
}

static void strangers_who_send_anything_hurt_nobody(void **state)
{
    struct node *node = *state;
    struct hub_random random;

    hub_random_init(&random, 7);
    for (unsigned round = 0; round < 500; round++) {
        uint8_t bytes[300];
        int fd = connect_fd(node);
        struct cluster_frame frame = frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 1);

        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)hub_random_next(&random);
        frame.type = (uint8_t)hub_random_below(&random, 130);
        frame.body_size = (uint32_t)hub_random_below(&random, 400);
        if (hub_random_below(&random, 2))
            cluster_frame_write(&frame, bytes);
        (void)!send(fd, bytes, hub_random_below(&random, sizeof bytes), MSG_NOSIGNAL);
        serve(node);
        close(fd);
        if (round % 50 == 0)
            is_well(node, ORIGIN(round + 1));
    }
    serve(node);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 0);
    assert_true(times_broken(node, "cluster.frame.checksum") > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_does_not_say_hello_first_is_cut_off),
        TEST(who_says_nothing_is_cut_off),
        TEST(who_is_no_client_of_this_node_is_told_so),
        TEST(the_origin_of_another_user_is_refused),
        TEST(frames_of_a_node_are_not_taken),
        TEST(a_uid_is_of_one_call_only),
        TEST(a_user_of_the_group_has_a_share_of_the_connections),
        TEST(no_more_clients_come_than_there_may_be),
        TEST(a_user_has_a_share_of_the_origins),
        TEST(a_client_has_a_bound_of_calls),
        TEST(who_takes_no_answers_gets_no_more_calls_and_is_cut_off),
        TEST(a_call_that_lost_an_end_while_it_ran_begins_anew),
        TEST(strangers_who_send_anything_hurt_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
