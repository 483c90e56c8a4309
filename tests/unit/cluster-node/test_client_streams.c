/* SPDX-License-Identifier: Apache-2.0 */
/* client_streams: calls with streams, as the clients of a node have them. */
#include <rapahub/stream.h>

#include "cluster/stream/streams.h"
#include "hub/base/clock.h"
#include "tests/unit/cluster-node/client_end.h"

#define WINDOW CLUSTER_STREAM_WINDOW

static struct cluster_body call_with(uint32_t sources, uint32_t sinks)
{
    return (struct cluster_body){.call = {.left_us = 60 * 1000000,
                                          .method_id = 9,
                                          .sources = sources,
                                          .sinks = sinks,
                                          .mode = CLUSTER_MODE_DIRECT}};
}

static void put_streaming(struct program *program, uint64_t number, uint32_t sources,
                          uint32_t sinks)
{
    const struct cluster_body body = call_with(sources, sinks);

    put(program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), number), &body);
}

static void put_open(struct program *program, uint64_t number, uint32_t stream, bool sink)
{
    struct cluster_frame frame = frame_of(CLUSTER_FRAME_BULK_OPEN, ORIGIN(1), number);

    frame.stream = stream;
    put(program, frame, &(struct cluster_body){.bulk_open = {0, sink}});
}

/* r[verify cluster.client.streams] */
static void the_bytes_of_a_source_come_to_the_core(void **state)
{
    struct node *node = *state;
    struct program program;
    struct rapahub_source *source;
    char bytes[8];

    come(node, &program, ORIGIN(1));
    put_streaming(&program, 1, 1, 0);
    put_open(&program, 1, 1, false);
    settle(node, &program);
    assert_int_equal(node->begun, 1);
    assert_int_equal(node->call.streams->count, 1);
    source = node->call.streams->ends[0].source;
    cluster_stream_want(node->call.streams->all[0].stream);
    cluster_bell_ring(node->call.streams->bell);
    settle(node, &program);
    assert_int_equal(program.frame.type, CLUSTER_FRAME_CREDIT);
    assert_int_equal(program.frame.stream, 1);
    assert_int_equal(program.body.credit.bytes, WINDOW);
    memcpy(cluster_connection_put_data(program.connection, 1, 3), "abc", 3);
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_BULK_DONE, .stream = 1},
        &(struct cluster_body){0});
    settle(node, &program);
    assert_int_equal(rapahub_source_read(source, bytes, sizeof bytes), 3);
    assert_int_equal(rapahub_source_read(source, bytes, sizeof bytes), 0);
    answer(node, 0, "end");
    settle(node, &program);
    assert_int_equal(program.results, 1);
    disconnect(node, &program);
}

static void what_is_written_after_the_answer_of_the_core_comes_too(void **state)
{
    struct node *node = *state;
    struct program program;
    struct rapahub_sink *sink;

    come(node, &program, ORIGIN(1));
    put_streaming(&program, 1, 0, 1);
    put_open(&program, 1, 1, true);
    settle(node, &program);
    sink = node->call.streams->ends[0].sink;
    assert_int_equal(rapahub_sink_write(sink, "abc", 3), 0);
    assert_int_equal(rapahub_sink_end(sink), 0);
    answer(node, 0, "end");
    settle(node, &program);
    assert_int_equal(program.results, 1);
    put(&program,
        (struct cluster_frame){.type = CLUSTER_FRAME_ACK, .uid = {ORIGIN(1), 1}, .pool = POOL},
        &(struct cluster_body){0});
    put(&program, (struct cluster_frame){.type = CLUSTER_FRAME_CREDIT, .stream = 1},
        &(struct cluster_body){.credit = {CLUSTER_CREDIT_BULK, WINDOW}});
    settle(node, &program);
    assert_int_equal(program.frame.type, CLUSTER_FRAME_BULK_DONE);
    disconnect(node, &program);
}

/* r[verify cluster.client.streams] */
static void a_client_that_goes_takes_its_calls_with_it(void **state)
{
    struct node *node = *state;
    struct program program;
    struct cluster_call_streams *held;
    char byte;

    come(node, &program, ORIGIN(1));
    put_streaming(&program, 1, 1, 0);
    settle(node, &program);
    held = cluster_call_streams_hold(node->call.streams);
    disconnect(node, &program);
    assert_int_equal(node->cancelled, 1);
    assert_int_equal(node->last_cancelled, node->numbers[0]);
    assert_int_equal(rapahub_source_read(held->ends[0].source, &byte, 1), RAPAHUB_ERESET);
    cluster_call_streams_drop(&held);
}

/* r[verify cluster.client.streams] */
static void a_cancel_ends_the_streams(void **state)
{
    struct node *node = *state;
    struct program program;
    struct cluster_call_streams *held;

    come(node, &program, ORIGIN(1));
    put_streaming(&program, 1, 0, 1);
    put_open(&program, 1, 1, true);
    settle(node, &program);
    held = cluster_call_streams_hold(node->call.streams);
    put(&program,
        (struct cluster_frame){.type = CLUSTER_FRAME_CANCEL, .uid = {ORIGIN(1), 1}, .pool = POOL},
        &(struct cluster_body){0});
    settle(node, &program);
    assert_int_equal(node->cancelled, 1);
    assert_int_equal(rapahub_sink_write(held->ends[0].sink, "x", 1), RAPAHUB_ERESET);
    cluster_call_streams_drop(&held);
    disconnect(node, &program);
}

/* r[verify cluster.client.streams] */
static void calls_to_several_and_to_offers_have_no_streams(void **state)
{
    struct node *node = *state;
    struct cluster_body body = call_with(1, 0);
    struct cluster_frame frame = frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 1);
    struct program program;

    come(node, &program, ORIGIN(1));
    body.call.mode = CLUSTER_MODE_BROADCAST;
    frame.container = 0;
    put(&program, frame, &body);
    settle(node, &program);
    assert_int_equal(program.body.result.status, RAPAHUB_EINVAL);
    body.call.mode = CLUSTER_MODE_DIRECT;
    frame.uid.number = 2;
    frame.pool = OFFER;
    put(&program, frame, &body);
    settle(node, &program);
    assert_int_equal(program.body.result.status, RAPAHUB_ENOTSUP);
    assert_int_equal(node->begun, 0);
    disconnect(node, &program);
}

/* r[verify cluster.stream.bounds] */
static void a_client_with_many_streams_is_told_to_wait(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    for (uint64_t number = 1; number <= 5; number++)
        put_streaming(&program, number, 0xffff, 0);
    settle(node, &program);
    assert_int_equal(node->begun, 4); /* 64 streams */
    assert_int_equal(program.nacks, 1);
    assert_int_equal(program.body.nack.reason, CLUSTER_NACK_BUSY);
    assert_non_null(strstr(program.text, "streams"));
    disconnect(node, &program);
    assert_int_equal(node->cancelled, 4);
}

/* Nothing moves, so its time is over; the cancel ends a call that is not resolved yet at once.
 * r[verify cluster.stream.patience] */
static void a_call_that_is_stuck_ends_once_also_where_its_cancel_ends_it(void **state)
{
    struct node *node = *state;
    struct cluster_body body = call_with(0, 1);
    struct program program;

    come(node, &program, ORIGIN(1));
    body.call.left_us = 1000;
    node->cancel_ends = true;
    put(&program, frame_of(CLUSTER_FRAME_CALL, ORIGIN(1), 1), &body);
    for (int i = 0; i < 1000 && program.results == 0; i++) {
        settle(node, &program);
        hub_clock_pause(HUB_MILLISECOND);
    }
    assert_int_equal(program.results, 1);
    assert_int_equal(program.body.result.status, RAPAHUB_ETIMEDOUT);
    assert_int_equal(node->cancelled, 1);
    settle(node, &program);
    assert_int_equal(program.results, 1);
    disconnect(node, &program);
}

/* r[verify cluster.client.broken] r[verify cluster.stream.credit] */
static void a_client_that_ignores_credit_is_cut_off_and_counted(void **state)
{
    struct node *node = *state;
    struct program program;

    come(node, &program, ORIGIN(1));
    put_streaming(&program, 1, 1, 0);
    put_open(&program, 1, 1, false);
    settle(node, &program);
    memset(cluster_connection_put_data(program.connection, 1, 100000), 'x', 100000);
    settle(node, &program);
    assert_true(program.over < 0);
    assert_int_equal(node->cancelled, 1);
    assert_string_equal(cluster_clients_counts(node->clients)->broken.all[0].rule,
                        "cluster.stream.credit");
    disconnect(node, &program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_bytes_of_a_source_come_to_the_core),
        TEST(what_is_written_after_the_answer_of_the_core_comes_too),
        TEST(a_client_that_goes_takes_its_calls_with_it),
        TEST(a_cancel_ends_the_streams),
        TEST(calls_to_several_and_to_offers_have_no_streams),
        TEST(a_client_with_many_streams_is_told_to_wait),
        TEST(a_call_that_is_stuck_ends_once_also_where_its_cancel_ends_it),
        TEST(a_client_that_ignores_credit_is_cut_off_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
