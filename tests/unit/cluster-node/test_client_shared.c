/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by shared memory, as the clients of a node take them: the segment itself is a hook. */
#include <sys/stat.h>

#include "cluster/node/client_links.h"
#include "cluster/wire/shared_call.h"
#include "tests/unit/cluster-node/client_end.h"

#define LARGE (64u * 1024)

/* ---- a program with a segment ---- */

static void ask_for_segment(struct node *node, struct program *program)
{
    const struct cluster_body body = {.share = {LARGE}};

    put(program, (struct cluster_frame){.type = CLUSTER_FRAME_SHARE}, &body);
    settle(node, program);
}

static void come_with_segment(struct node *node, struct program *program)
{
    come(node, program, ORIGIN(1));
    assert_int_equal(program->body.hello.features, CLUSTER_FEATURE_SHARE);
    ask_for_segment(node, program);
    assert_int_equal(program->shared, 1);
    assert_int_equal(program->body.shared.status, 0);
    close(program->descriptors[0]);
    close(program->descriptors[1]);
}

static struct cluster_shared_call call_of(uint64_t number, const struct cluster_body_member *member)
{
    return (struct cluster_shared_call){
        .frame = frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), number),
        .body = {.call = {.left_us = 10000000,
                          .method_id = 9,
                          .arguments = {"abc", 3},
                          .members = {.of = member, .count = member ? 1 : 0}}}};
}

static int request(struct node *node, uint64_t as, const struct cluster_shared_call *call)
{
    uint8_t bytes[1024];
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_shared_call_put(&writer, call), 0);
    return cluster_clients_request(node->clients, node->shared_client, as,
                                   (struct rapahub_bytes){bytes, writer.size});
}

/* Where the core says that calls go. */
static const struct cluster_body_member right = {5, 3u << 16};

static int request_right(struct node *node, uint64_t as, uint64_t number)
{
    const struct cluster_shared_call call = call_of(number, &right);

    node->members = 1;
    return request(node, as, &call);
}

static void answer_large(struct node *node, unsigned call)
{
    static const char bytes[LARGE];
    const struct cluster_clients_answer is = {.payload = {bytes, sizeof bytes}};

    assert_true(cluster_clients_answer(node->clients, node->numbers[call], &is));
}

/* ---- segments ---- */

/* r[verify cluster.client.shared] */
static void a_segment_comes_with_two_descriptors(void **state)
{
    struct node *node = *state;
    struct program program;
    struct stat status;

    come(node, &program, ORIGIN(1));
    ask_for_segment(node, &program);
    assert_int_equal(program.shared, 1);
    assert_int_equal(program.body.shared.status, 0);
    assert_int_equal(program.body.shared.peer, 7);
    assert_int_equal(program.body.shared.waiting, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fstat(program.descriptors[i], &status), 0);
        assert_true(S_ISFIFO(status.st_mode));
        close(program.descriptors[i]);
    }
    assert_int_equal(cluster_clients_counts(node->clients)->shared, 1);
    disconnect(node, &program);
    assert_int_equal(node->unshares, 1);
    assert_int_equal(cluster_clients_counts(node->clients)->shared, 0);
}

/* r[verify cluster.client.shared] */
static void who_gets_none_is_told_why_and_goes_on(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    node->refuse_share = RAPAHUB_EFULL;
    ask_for_segment(node, &program);
    assert_int_equal(program.body.shared.status, RAPAHUB_EFULL);
    assert_int_equal(program.body.shared.peer, 0);
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(node->begun, 1);
    assert_int_equal(cluster_clients_counts(node->clients)->unshared, 1);
    disconnect(node, &program);
    assert_int_equal(node->unshares, 0);
}

/* r[verify cluster.client.shared] */
static void asking_twice_gives_back_the_first_and_brings_no_other_soon(void **state)
{
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    for (unsigned i = 0; i < 5; i++) {
        ask_for_segment(node, &program);
        assert_int_equal(program.body.shared.status, RAPAHUB_EBUSY);
    }
    assert_int_equal(node->shares, 1);
    assert_int_equal(node->unshares, 1);
    assert_int_equal(request_right(node, 1, 1), RAPAHUB_EACCES);
    disconnect(node, &program);
}

/* r[verify cluster.client.role] */
static void a_viewer_gets_no_segment(void **state)
{
    struct node *node = *state;
    struct program program;

    next_peer.role = RAPAHUB_CONTROL_VIEWER;
    come(node, &program, ORIGIN(1));
    ask_for_segment(node, &program);
    assert_int_equal(program.body.shared.status, RAPAHUB_EACCES);
    assert_int_equal(node->shares, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.frame] */
static void a_segment_from_a_client_ends_its_connection(void **state)
{
    const struct cluster_body body = {.shared = {.peer = 1}};
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_SHARED}, &body);
    settle(node, &program);
    assert_int_equal(program.over, RAPAHUB_ECLOSED);
    assert_int_equal(times_broken(node, "cluster.client.frame"), 1);
    disconnect(node, &program);
}

/* ---- requests ---- */

/* r[verify cluster.client.resolved] */
static void who_does_not_know_where_a_call_goes_is_told_before_it_begins(void **state)
{
    static const struct cluster_body_member elsewhere = {6, 3u << 16}, earlier = {5, 2u << 16};
    const struct cluster_shared_call unknown = call_of(1, NULL), other = call_of(1, &elsewhere),
                                     old = call_of(1, &earlier);
    const struct cluster_shared_call *const wrong[] = {&unknown, &other, &old};
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    node->members = 1;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(request(node, i + 1, wrong[i]), 0);
        assert_int_equal(node->responses, i + 1);
        assert_int_equal(node->response_type, CLUSTER_FRAME_RESOLVED);
        assert_int_equal(node->answer_member.container, right.container);
        assert_int_equal(node->answer_member.lineage, right.lineage);
    }
    assert_int_equal(node->begun, 0);
    assert_int_equal(request_right(node, 9, 1), 0);
    assert_int_equal(node->begun, 1);
    assert_int_equal(node->first_member, right.container);
    assert_int_equal(node->first_lineage, right.lineage);
    assert_int_equal(node->call.role, RAPAHUB_CONTROL_ADMIN);
    answer(node, 0, "yes");
    assert_int_equal(node->responses, 4);
    assert_int_equal(node->responded, 9);
    assert_int_equal(node->response_type, CLUSTER_FRAME_RESULT);
    assert_int_equal(node->answer_size, 3);
    settle(node, &program);
    assert_int_equal(program.results + program.resolved, 0); /* nothing by the socket */
    disconnect(node, &program);
}

static void a_call_that_is_refused_ends_so(void **state)
{
    const struct cluster_shared_call unknown = call_of(2, NULL);
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    node->refuse = RAPAHUB_ENOMETHOD;
    assert_int_equal(request_right(node, 1, 1), 0);
    assert_int_equal(node->response_type, CLUSTER_FRAME_RESULT);
    assert_int_equal(node->answer.result.status, RAPAHUB_ENOMETHOD);
    node->members = RAPAHUB_ENOPOOL;
    assert_int_equal(request(node, 2, &unknown), 0);
    assert_int_equal(node->answer.result.status, RAPAHUB_ENOPOOL);
    disconnect(node, &program);
}

static void a_call_whose_time_is_over_is_not_begun(void **state)
{
    struct cluster_shared_call call = call_of(1, &right);
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    call.body.call.left_us = 0;
    node->members = 1;
    assert_int_equal(request(node, 1, &call), 0);
    assert_int_equal(node->response_type, CLUSTER_FRAME_NACK);
    assert_int_equal(node->answer.nack.reason, CLUSTER_NACK_EXPIRED);
    assert_int_equal(node->begun, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.kept] */
static void an_end_whose_request_is_given_up_waits_for_the_call_by_the_socket(void **state)
{
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    assert_int_equal(request_right(node, 1, 1), 0);
    assert_int_equal(request_right(node, 2, 2), 0);
    cluster_clients_give_up(node->clients, 1);
    cluster_clients_give_up(node->clients, 2);
    cluster_clients_give_up(node->clients, 2);
    answer(node, 0, "one");
    settle(node, &program);
    assert_int_equal(node->responses + program.results, 0);
    put_call(&program, ORIGIN(1), 1); /* it has ended */
    put_call(&program, ORIGIN(1), 2); /* it runs */
    settle(node, &program);
    assert_int_equal(program.results, 1);
    answer(node, 1, "two");
    settle(node, &program);
    assert_int_equal(program.results, 2);
    assert_int_equal(node->begun, 2);
    assert_int_equal(node->responses, 0);
    disconnect(node, &program);
}

/* r[verify cluster.client.kept] */
static void a_call_that_comes_by_the_socket_leaves_its_request_without_an_answer(void **state)
{
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    assert_int_equal(request_right(node, 1, 1), 0);
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    answer(node, 0, "one");
    settle(node, &program);
    assert_int_equal(program.results, 1);
    assert_int_equal(node->responses, 0);
    disconnect(node, &program);
}

/* r[verify cluster.shared.answer] */
static void an_answer_that_is_too_large_is_fetched_by_the_socket(void **state)
{
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    assert_int_equal(request_right(node, 1, 1), 0);
    answer_large(node, 0);
    settle(node, &program);
    assert_int_equal(node->response_type, CLUSTER_FRAME_ACK);
    assert_int_equal(program.results, 0);
    put_call(&program, ORIGIN(1), 1);
    settle(node, &program);
    assert_int_equal(program.results, 1);
    assert_int_equal(program.payload_size, LARGE);
    disconnect(node, &program);
}

/* r[verify cluster.shared.request] */
static void an_acknowledged_end_is_forgotten(void **state)
{
    struct cluster_shared_call call = call_of(3, &right);
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    assert_int_equal(request_right(node, 1, 1), 0);
    assert_int_equal(request_right(node, 2, 2), 0);
    answer(node, 0, "one");
    answer(node, 1, "two");
    assert_int_equal(cluster_clients_figures(node->clients).calls, 2);
    call.acks_count = 2;
    call.acks[0] = 2;
    call.acks[1] = 77; /* nobody knows it */
    assert_int_equal(request(node, 3, &call), 0);
    assert_int_equal(cluster_clients_figures(node->clients).calls, 2); /* 1 and 3 */
    call = call_of(4, &right);
    call.body.call.done_below = 3;
    assert_int_equal(request(node, 4, &call), 0);
    assert_int_equal(cluster_clients_figures(node->clients).calls, 2); /* 3 and 4 */
    disconnect(node, &program);
}

/* ---- two ways, of which none keeps the order of the other ---- */

/* The client has ended its first call, which is on its way by the socket, before another thread
 * called by shared memory. r[verify cluster.shared.overtaken] */
static void a_call_by_the_socket_that_is_overtaken_is_not_begun_and_breaks_no_rule(void **state)
{
    struct cluster_shared_call later = call_of(2, &right);
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    put_call(&program, ORIGIN(1), 1);
    put_of_call(&program, CLUSTER_FRAME_CANCEL, ORIGIN(1), 1);
    assert_int_equal(cluster_connection_flush(program.connection), 0);
    later.body.call.done_below = 2;
    node->members = 1;
    assert_int_equal(request(node, 1, &later), 0);
    settle(node, &program);
    assert_int_equal(program.over, 0);
    assert_int_equal(program.nacks, 1);
    assert_int_equal(program.body.nack.reason, CLUSTER_NACK_EXPIRED);
    assert_int_equal(times_broken(node, "cluster.dedup.ended"), 0);
    assert_int_equal(node->begun, 1);
    answer(node, 0, "two");
    assert_int_equal(node->responses, 1);
    disconnect(node, &program);
}

/* r[verify cluster.shared.overtaken] */
static void a_request_that_is_overtaken_is_not_begun_and_breaks_no_rule(void **state)
{
    const struct cluster_body body = {
        .call = {.left_us = 1000000, .method_id = 9, .done_below = 2}};
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    put(&program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 2), &body);
    settle(node, &program);
    assert_int_equal(request_right(node, 1, 1), 0);
    assert_int_equal(node->response_type, CLUSTER_FRAME_NACK);
    assert_int_equal(node->answer.nack.reason, CLUSTER_NACK_EXPIRED);
    settle(node, &program);
    assert_int_equal(program.over, 0);
    assert_int_equal(times_broken(node, "cluster.dedup.ended"), 0);
    assert_int_equal(node->begun, 1);
    disconnect(node, &program);
}

/* ---- rules that are broken ---- */

static void expect_broken(struct node *node, struct program *program,
                          const struct cluster_shared_call *call, const char *rule)
{
    uint64_t before = times_broken(node, rule);

    node->members = 1;
    assert_int_equal(request(node, 50, call), RAPAHUB_EPROTOCOL);
    assert_int_equal(times_broken(node, rule), before + 1);
    settle(node, program);
    assert_int_equal(program->over, RAPAHUB_ECLOSED);
    assert_int_equal(cluster_clients_figures(node->clients).connections, 0);
    assert_int_equal(cluster_clients_counts(node->clients)->shared, 0);
    disconnect(node, program);
}

/* r[verify cluster.client.broken] r[verify cluster.shared.request] */
static void who_breaks_a_rule_loses_connection_and_segment(void **state)
{
    struct cluster_shared_call call;
    struct node *node = *state;
    struct program program;

    come_with_segment(node, &program);
    call = call_of(1, &right);
    call.frame.uid.origin = ORIGIN(2);
    expect_broken(node, &program, &call, "cluster.call.origin");
    come_with_segment(node, &program);
    call = call_of(1, &right);
    call.body.call.maybe = true;
    expect_broken(node, &program, &call, "cluster.shared.request");
    come_with_segment(node, &program);
    assert_int_equal(request_right(node, 1, 5), 0);
    call = call_of(5, &right);
    expect_broken(node, &program, &call, "cluster.dedup.other");
    come_with_segment(node, &program);
    call = call_of(7, &right);
    call.body.call.done_below = 9;
    expect_broken(node, &program, &call, "cluster.dedup.ended");
}

/* The end of the call cannot be kept, in the request itself, and nothing else happens for it.
 * r[verify cluster.client.bounds] */
static void who_has_no_memory_left_in_a_request_is_hung_up(void **state)
{
    struct node *node = *state;
    struct pollfd poll_for;
    struct program program;
    struct hub_budget *budget;
    uint64_t rest;

    come_with_segment(node, &program);
    budget = node->clients->all[node->shared_client].user->budget;
    rest = budget->limit - hub_load_relaxed64(&budget->used);
    rest -= sizeof(struct cluster_origin_call) + sizeof right; /* for the call itself */
    assert_true(hub_budget_take(budget, rest));
    node->refuse = RAPAHUB_ENOMETHOD;
    assert_int_equal(request_right(node, 1, 1), 0);
    hub_budget_give(budget, rest);
    assert_int_equal(node->responses, 0);
    poll_for = (struct pollfd){.fd = cluster_clients_fd(node->clients), .events = POLLIN};
    assert_int_equal(poll(&poll_for, 1, 10000), 1);
    serve(node);
    assert_int_equal(node->unshares, 1); /* which ends the request */
    settle(node, &program);
    assert_int_equal(program.over, RAPAHUB_ECLOSED);
    disconnect(node, &program);
}

/* r[verify cluster.shared.request] */
static void bytes_that_are_no_request_are_refused_wherever_they_are_cut(void **state)
{
    struct cluster_shared_call call = call_of(1, &right), read;
    uint8_t bytes[1024];
    struct hub_writer writer;

    (void)state;
    call.acks_count = 2;
    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_shared_call_put(&writer, &call), 0);
    assert_int_equal(cluster_shared_call_read((struct rapahub_bytes){bytes, writer.size}, &read),
                     0);
    for (size_t size = 0; size < writer.size; size++)
        assert_true(cluster_shared_call_read((struct rapahub_bytes){bytes, size}, &read) < 0);
    assert_true(cluster_shared_call_read((struct rapahub_bytes){bytes, writer.size + 1}, &read) <
                0);
    bytes[0] = CLUSTER_SHARED_CALL_ACKS + 1;
    assert_true(cluster_shared_call_read((struct rapahub_bytes){bytes, sizeof bytes}, &read) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_segment_comes_with_two_descriptors),
        TEST(who_gets_none_is_told_why_and_goes_on),
        TEST(asking_twice_gives_back_the_first_and_brings_no_other_soon),
        TEST(a_viewer_gets_no_segment),
        TEST(a_segment_from_a_client_ends_its_connection),
        TEST(who_does_not_know_where_a_call_goes_is_told_before_it_begins),
        TEST(a_call_that_is_refused_ends_so),
        TEST(a_call_whose_time_is_over_is_not_begun),
        TEST(an_end_whose_request_is_given_up_waits_for_the_call_by_the_socket),
        TEST(a_call_that_comes_by_the_socket_leaves_its_request_without_an_answer),
        TEST(an_answer_that_is_too_large_is_fetched_by_the_socket),
        TEST(an_acknowledged_end_is_forgotten),
        TEST(a_call_by_the_socket_that_is_overtaken_is_not_begun_and_breaks_no_rule),
        TEST(a_request_that_is_overtaken_is_not_begun_and_breaks_no_rule),
        TEST(who_breaks_a_rule_loses_connection_and_segment),
        TEST(who_has_no_memory_left_in_a_request_is_hung_up),
        TEST(bytes_that_are_no_request_are_refused_wherever_they_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
