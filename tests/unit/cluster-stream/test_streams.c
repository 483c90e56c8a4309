/* SPDX-License-Identifier: Apache-2.0 */
/* streams: bytes of a call from one side of a connection to the other, and their ends. */
#include <poll.h>
#include <pthread.h>

#include "hub/channel/stream.h"
#include "tests/unit/cluster-stream/stream_ends.h"

#define LENGTH (3 * WINDOW + 12345)

static uint8_t *pattern(size_t size)
{
    uint8_t *bytes = malloc(size);

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    return bytes;
}

/* Writes all of it as a thread does that may wait. */
struct writing {
    struct rapahub_sink *to;
    const uint8_t *bytes;
    size_t size;
    int status;
};

static void *write_all(void *user)
{
    struct writing *writing = user;

    writing->status = rapahub_sink_write(writing->to, writing->bytes, writing->size);
    if (writing->status == 0)
        writing->status = rapahub_sink_end(writing->to);
    return NULL;
}

/* Reads to the end, and serves the connection meanwhile, as a third thread would. */
struct reading {
    struct rapahub_source *from;
    uint8_t *to;
    size_t size;
    ssize_t last;
    struct hub_a32 over;
};

static void *read_all(void *user)
{
    struct reading *reading = user;

    do {
        reading->last =
            rapahub_source_read(reading->from, reading->to + reading->size, LENGTH - reading->size);
        reading->size += reading->last > 0 ? (size_t)reading->last : 0;
    } while (reading->last > 0 && reading->size < LENGTH);
    if (reading->last > 0)
        reading->last = rapahub_source_read(reading->from, &(char){0}, 1);
    hub_publish(&reading->over, 1);
    return NULL;
}

static void move_all(struct ends *ends, struct side *from, struct side *to, uint32_t index)
{
    uint8_t *bytes = pattern(LENGTH);
    struct writing writing = {sink_of(from, index), bytes, LENGTH, 1};
    struct reading reading = {.from = source_of(to, index), .to = malloc(LENGTH)};
    pthread_t threads[2];

    assert_int_equal(pthread_create(&threads[0], NULL, write_all, &writing), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, read_all, &reading), 0);
    while (hub_observe(&reading.over) == 0) {
        turn(&ends->caller);
        turn(&ends->called);
        assert_int_equal(ends->caller.failed, 0);
        assert_int_equal(ends->called.failed, 0);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(writing.status, 0);
    assert_int_equal(reading.last, 0);
    assert_int_equal(reading.size, LENGTH);
    assert_memory_equal(reading.to, bytes, LENGTH);
    free(reading.to);
    free(bytes);
}

/* r[verify cluster.stream.open] r[verify cluster.stream.frame] */
static void bytes_go_both_ways_and_end(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 2);
    settle(ends);
    move_all(ends, &ends->caller, &ends->called, 0);
    move_all(ends, &ends->called, &ends->caller, 1);
    settle(ends);
    assert_true(cluster_call_streams_are_over(ends->caller.call));
    assert_true(cluster_call_streams_are_over(ends->called.call));
}

/* r[verify cluster.stream.wanted] */
static void nothing_is_sent_before_the_method_reads(void **state)
{
    struct ends *ends = *state;
    char bytes[8];

    begin(ends, 1, 0);
    settle(ends);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), "12345678", 8), 0);
    settle(ends);
    assert_int_equal(ends->caller.call->all[0].credit.left, 0);
    want(ends, 0);
    settle(ends);
    assert_int_equal(ends->caller.call->all[0].credit.left, WINDOW - 8);
    assert_int_equal(rapahub_source_read(source_of(&ends->called, 0), bytes, sizeof bytes), 8);
    assert_memory_equal(bytes, "12345678", 8);
}

/* r[verify cluster.stream.credit] */
static void at_most_a_window_is_under_way(void **state)
{
    struct ends *ends = *state;
    uint8_t *bytes = pattern(WINDOW), *back = malloc(WINDOW);
    enum cluster_stream_state open;

    begin(ends, 1, 0);
    want(ends, 0);
    settle(ends);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), bytes, WINDOW), 0);
    settle(ends);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), bytes, WINDOW), 0);
    settle(ends); /* those stay where they are */
    assert_int_equal(cluster_stream_waiting(ends->caller.call->all[0].stream, &open), WINDOW);
    assert_int_equal(rapahub_source_read(source_of(&ends->called, 0), back, WINDOW / 16),
                     WINDOW / 16);
    settle(ends); /* too little is given back */
    assert_int_equal(cluster_stream_waiting(ends->caller.call->all[0].stream, &open), WINDOW);
    assert_int_equal(rapahub_source_read(source_of(&ends->called, 0), back, WINDOW),
                     WINDOW / 16 * 15);
    settle(ends);
    assert_int_equal(cluster_stream_waiting(ends->caller.call->all[0].stream, &open), 0);
    assert_int_equal(open, CLUSTER_STREAM_OPEN);
    free(bytes);
    free(back);
}

/* r[verify cluster.stream.frame] */
static void a_writer_that_breaks_off_is_no_end(void **state)
{
    struct ends *ends = *state;
    struct rapahub_sink *sink;
    char bytes[8];

    begin(ends, 1, 0);
    want(ends, 0);
    settle(ends);
    sink = sink_of(&ends->caller, 0);
    assert_int_equal(rapahub_sink_write(sink, "abc", 3), 0);
    settle(ends);
    sink->leave(sink);
    settle(ends);
    assert_int_equal(rapahub_source_read(source_of(&ends->called, 0), bytes, 8), 3);
    assert_int_equal(rapahub_source_read(source_of(&ends->called, 0), bytes, 8), RAPAHUB_ERESET);
}

/* r[verify cluster.stream.frame] r[verify cluster.stream.late] */
static void a_reader_that_has_enough_stops_the_writer(void **state)
{
    struct ends *ends = *state;
    struct rapahub_source *source;

    begin(ends, 1, 0);
    want(ends, 0);
    settle(ends);
    source = source_of(&ends->called, 0);
    source->leave(source);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), "late", 4), 0);
    assert_int_equal(cluster_streams_send(&ends->caller.streams, ends->caller.connection), 0);
    settle(ends); /* the bytes and the word of the reader have crossed */
    assert_int_equal(ends->called.failed, 0);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), "more", 4), RAPAHUB_ERESET);
}

static void what_a_method_has_written_comes_after_its_answer(void **state)
{
    struct ends *ends = *state;
    char bytes[8];

    begin(ends, 1, 2);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->called, 1), "abc", 3), 0);
    assert_int_equal(rapahub_sink_end(sink_of(&ends->called, 1)), 0);
    cluster_streams_answered(&ends->called.streams, CALL, true);
    settle(ends);
    assert_int_equal(rapahub_source_read(source_of(&ends->caller, 1), bytes, 8), 3);
    assert_int_equal(rapahub_source_read(source_of(&ends->caller, 1), bytes, 8), 0);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), "x", 1), RAPAHUB_ERESET);
    assert_int_equal(ends->called.streams.count, 0); /* nothing is left of the call */
}

static void a_call_that_has_failed_ends_its_streams(void **state)
{
    struct ends *ends = *state;
    char bytes[8];

    begin(ends, 1, 2);
    settle(ends);
    cluster_streams_answered(&ends->called.streams, CALL, false);
    settle(ends);
    assert_int_equal(rapahub_source_read(source_of(&ends->caller, 1), bytes, 8), RAPAHUB_ERESET);
    assert_int_equal(ends->called.streams.count, 0);
}

/* The thread that waits at an end is told. */
static void streams_end_with_their_connection(void **state)
{
    struct ends *ends = *state;
    uint8_t *bytes = pattern(2 * WINDOW);
    struct writing writing = {NULL, bytes, 2 * WINDOW, 1};
    pthread_t thread;

    begin(ends, 1, 2);
    writing.to = sink_of(&ends->called, 1);
    assert_int_equal(pthread_create(&thread, NULL, write_all, &writing), 0);
    cluster_streams_lose(&ends->called.streams);
    pthread_join(thread, NULL);
    assert_int_equal(writing.status, RAPAHUB_ERESET);
    assert_int_equal(rapahub_source_read(source_of(&ends->called, 0), bytes, 1), RAPAHUB_ERESET);
    assert_int_equal(ends->called.streams.count, 0);
    free(bytes);
}

/* r[verify cluster.stream.patience] */
static void patience_begins_anew_with_each_byte(void **state)
{
    struct ends *ends = *state;
    uint64_t due;

    begin(ends, 1, 0);
    due = cluster_streams_due(&ends->caller.streams);
    assert_null(cluster_streams_stuck(&ends->caller.streams, due - 1));
    assert_ptr_equal(cluster_streams_stuck(&ends->caller.streams, due), ends->caller.call);
    assert_int_equal(rapahub_sink_write(sink_of(&ends->caller, 0), "x", 1), 0);
    assert_true(cluster_streams_due(&ends->caller.streams) > due);
}

static void a_bell_rings_until_it_is_heard(void **state)
{
    struct cluster_bell *bell = ((struct ends *)*state)->caller.bell;
    struct pollfd fd = {.fd = cluster_bell_fd(bell), .events = POLLIN};

    cluster_bell_ring(bell);
    cluster_bell_ring(bell);
    assert_int_equal(poll(&fd, 1, 0), 1);
    cluster_bell_hear(bell);
    assert_int_equal(poll(&fd, 1, 0), 0);
    cluster_bell_ring(bell);
    assert_int_equal(poll(&fd, 1, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_go_both_ways_and_end),
        TEST(nothing_is_sent_before_the_method_reads),
        TEST(at_most_a_window_is_under_way),
        TEST(a_writer_that_breaks_off_is_no_end),
        TEST(a_reader_that_has_enough_stops_the_writer),
        TEST(what_a_method_has_written_comes_after_its_answer),
        TEST(a_call_that_has_failed_ends_its_streams),
        TEST(streams_end_with_their_connection),
        TEST(patience_begins_anew_with_each_byte),
        TEST(a_bell_rings_until_it_is_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
