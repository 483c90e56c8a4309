/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "host/call/routed_streams.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define SOON (10 * HUB_SECOND)

static void on_end(void *user)
{
    hub_add(user, 1);
}

/* A call with a source and a sink in memory, "a", source, sink. */
struct bench {
    struct hub_thread_pool pool;
    struct hub_a32 ends;
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    struct hub_stream_marks marks;
    struct host_routed_streams *streams;
};

static const uint8_t bytes[] = {1, 2, 3, 4, 5};

static int try_open(struct bench *bench, uint64_t patience_ns)
{
    const struct host_routed_streams_order order = {.marks = &bench->marks,
                                                    .arguments = {"a\0\0", 3},
                                                    .pool = &bench->pool,
                                                    .patience_ns = patience_ns,
                                                    .on_end = on_end,
                                                    .user = &bench->ends};

    return host_routed_streams_open(&order, &bench->streams);
}

static void open_bench(struct bench *bench, size_t room)
{
    *bench = (struct bench){.marks = {.count = 2}};
    hub_thread_pool_init(&bench->pool);
    assert_int_equal(rapahub_source_of_memory(bytes, sizeof bytes, &bench->source), 0);
    assert_int_equal(rapahub_sink_of_memory(room, &bench->sink), 0);
    bench->marks.list[0] = (struct hub_stream_mark){.at = 1, .size = 1, .stream = bench->source};
    bench->marks.list[1] =
        (struct hub_stream_mark){.at = 2, .size = 1, .is_sink = true, .stream = bench->sink};
}

static void close_bench(struct bench *bench)
{
    hub_thread_pool_fini(&bench->pool);
    rapahub_source_destroy(bench->source);
    rapahub_sink_destroy(bench->sink);
}

static bool settle(struct bench *bench)
{
    uint64_t deadline = hub_clock_after(SOON);
    bool settled = false;

    while (!settled && hub_clock_left(deadline) > 0)
        settled = host_routed_streams_settle(bench->streams, hub_clock_after(10 * HUB_MILLISECOND));
    return settled;
}

/* r[verify hub.route.streams] */
static void the_router_has_ends_of_its_own_and_indices_of_them(void **state)
{
    struct host_routed_ends *ends;
    struct bench bench;
    uint8_t got[sizeof bytes];
    size_t size;

    (void)state;
    open_bench(&bench, 100);
    assert_int_equal(try_open(&bench, SOON), 0);
    assert_int_equal(host_routed_streams_arguments(bench.streams).size, 3);
    assert_memory_equal(host_routed_streams_arguments(bench.streams).data, "a\0\1", 3);
    ends = host_routed_streams_ends(bench.streams);
    assert_int_equal(ends->count, 2);
    assert_true(ends->list[0].source && !ends->list[0].sink);
    assert_true(ends->list[1].sink && !ends->list[1].source);
    assert_ptr_not_equal(ends->list[0].source, bench.source);
    assert_int_equal(rapahub_source_read_all(ends->list[0].source, got, sizeof got), 0);
    assert_memory_equal(got, bytes, sizeof bytes);
    assert_int_equal(rapahub_source_read(ends->list[0].source, got, 1), 0);
    assert_int_equal(rapahub_sink_write(ends->list[1].sink, "xyz", 3), 0);
    host_routed_streams_close(bench.streams, true); /* the router need not end it */
    assert_true(settle(&bench));
    assert_int_equal(host_routed_streams_finish(&bench.streams), 0);
    assert_memory_equal(rapahub_sink_data(bench.sink, &size), "xyz", 3);
    assert_int_equal(size, 3);
    assert_int_equal(hub_observe(&bench.ends), 2);
    close_bench(&bench);
}

/* The call has ended, and the router has not answered. r[verify hub.route.streams] */
static void the_ends_outlive_the_call_and_move_nothing_more(void **state)
{
    struct host_routed_ends *ends;
    struct bench bench;
    uint8_t byte;

    (void)state;
    open_bench(&bench, 100);
    assert_int_equal(try_open(&bench, SOON), 0);
    ends = host_routed_streams_hold(host_routed_streams_ends(bench.streams));
    host_routed_streams_close(bench.streams, false);
    assert_true(settle(&bench));
    assert_int_equal(host_routed_streams_finish(&bench.streams), 0);
    close_bench(&bench);
    while (rapahub_source_read(ends->list[0].source, &byte, 1) > 0)
        continue; /* what was on its way */
    assert_true(rapahub_sink_write(ends->list[1].sink, "x", 1) < 0);
    host_routed_streams_release(&ends);
    assert_null(ends);
    host_routed_streams_release(&ends);
}

static void a_stream_of_the_caller_that_fails_is_the_failure(void **state)
{
    struct host_routed_ends *ends;
    struct bench bench;

    (void)state;
    open_bench(&bench, 2);
    assert_int_equal(try_open(&bench, SOON), 0);
    ends = host_routed_streams_ends(bench.streams);
    assert_int_equal(rapahub_sink_write(ends->list[1].sink, "xyz", 3), 0);
    host_routed_streams_close(bench.streams, true);
    assert_true(settle(&bench));
    assert_int_equal(host_routed_streams_finish(&bench.streams), RAPAHUB_EMSGSIZE);
    assert_null(bench.streams);
    close_bench(&bench);
}

static void a_stream_that_is_missing_is_refused(void **state)
{
    struct bench bench;

    (void)state;
    open_bench(&bench, 2);
    bench.marks.list[1].stream = NULL;
    assert_int_equal(try_open(&bench, SOON), RAPAHUB_EARGUMENTS);
    assert_non_null(strstr(rapahub_last_error()->text, "a sink is missing"));
    close_bench(&bench);
}

/* Nothing reads what the method wrote. */
static void what_is_not_taken_for_too_long_ends_it(void **state)
{
    struct rapahub_source *reader;
    struct rapahub_sink *own;
    struct host_routed_ends *ends;
    static char data[60000];
    struct bench bench;

    (void)state;
    open_bench(&bench, 2);
    own = bench.sink;
    assert_int_equal(rapahub_stream_pair(&bench.sink, &reader), 0);
    bench.marks.list[1].stream = bench.sink;
    assert_int_equal(try_open(&bench, 50 * HUB_MILLISECOND), 0);
    ends = host_routed_streams_ends(bench.streams);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rapahub_sink_write(ends->list[1].sink, data, sizeof data), 0);
    host_routed_streams_close(bench.streams, true);
    assert_true(settle(&bench));
    assert_int_equal(host_routed_streams_finish(&bench.streams), RAPAHUB_ETIMEDOUT);
    rapahub_source_destroy(reader);
    rapahub_sink_destroy(own);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_router_has_ends_of_its_own_and_indices_of_them),
        cmocka_unit_test(the_ends_outlive_the_call_and_move_nothing_more),
        cmocka_unit_test(a_stream_of_the_caller_that_fails_is_the_failure),
        cmocka_unit_test(a_stream_that_is_missing_is_refused),
        cmocka_unit_test(what_is_not_taken_for_too_long_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
