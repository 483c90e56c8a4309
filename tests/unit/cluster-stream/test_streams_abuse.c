/* SPDX-License-Identifier: Apache-2.0 */
/* streams_abuse: the other side of a connection breaks the rules of streams. */
#include "tests/unit/cluster-stream/stream_ends.h"

static void is_refused(struct ends *ends, struct side *side, const char *rule)
{
    settle(ends);
    assert_int_equal(side->failed, RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

/* Its diagnosis is the last one: the caller reads no more. */
static void called_refuses(struct ends *ends, const char *rule)
{
    ends->caller.failed = RAPAHUB_ECLOSED;
    assert_int_equal(cluster_connection_flush(ends->caller.connection), 0);
    is_refused(ends, &ends->called, rule);
}

static void caller_refuses(struct ends *ends, const char *rule)
{
    ends->called.failed = RAPAHUB_ECLOSED;
    assert_int_equal(cluster_connection_flush(ends->called.connection), 0);
    is_refused(ends, &ends->caller, rule);
}

static struct cluster_frame frame_of(uint8_t type, uint32_t stream)
{
    return (struct cluster_frame){.type = type, .stream = stream};
}

static const struct cluster_body none;

/* r[verify cluster.stream.credit] */
static void bytes_without_credit_are_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    settle(ends);
    put_data(&ends->caller, 1, 1);
    called_refuses(ends, "cluster.stream.credit");
}

/* r[verify cluster.stream.credit] */
static void more_bytes_than_there_is_credit_for_are_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    want(ends, 0);
    settle(ends);
    put_data(&ends->caller, 1, WINDOW);
    settle(ends);
    assert_int_equal(ends->called.failed, 0);
    put_data(&ends->caller, 1, 1);
    called_refuses(ends, "cluster.stream.credit");
}

/* r[verify cluster.stream.credit] */
static void credit_for_more_than_the_window_is_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 0, 1);
    settle(ends);
    put(&ends->caller, frame_of(CLUSTER_FRAME_CREDIT, 1),
        &(struct cluster_body){.credit = {CLUSTER_CREDIT_BULK, 1}});
    called_refuses(ends, "cluster.link.credit");
}

/* r[verify cluster.stream.frame] */
static void a_data_frame_without_bytes_is_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    want(ends, 0);
    settle(ends);
    (void)cluster_connection_put_data(ends->caller.connection, 1, 0);
    called_refuses(ends, "cluster.stream.frame");
}

/* r[verify cluster.stream.frame] */
static void frames_of_the_wrong_side_are_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 2);
    settle(ends);
    put(&ends->caller, frame_of(CLUSTER_FRAME_BULK_DONE, 2), &none); /* the method writes there */
    called_refuses(ends, "cluster.stream.frame");
}

/* r[verify cluster.stream.frame] */
static void a_reader_that_writes_is_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    settle(ends);
    put_data(&ends->called, 1, 8);
    caller_refuses(ends, "cluster.stream.frame");
}

/* r[verify cluster.stream.frame] */
static void a_writer_that_gives_credit_is_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    settle(ends);
    put(&ends->caller, frame_of(CLUSTER_FRAME_CREDIT, 1),
        &(struct cluster_body){.credit = {CLUSTER_CREDIT_BULK, 8}});
    called_refuses(ends, "cluster.stream.frame");
}

/* r[verify cluster.stream.open] */
static void a_number_that_was_not_opened_is_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    settle(ends);
    put(&ends->caller, frame_of(CLUSTER_FRAME_BULK_RESET, 2), &none);
    called_refuses(ends, "cluster.stream.open");
}

static void put_open(struct ends *ends, uint32_t stream, uint64_t call, uint32_t index, bool sink)
{
    struct cluster_frame frame = call_frame;

    frame.type = CLUSTER_FRAME_BULK_OPEN;
    frame.stream = stream;
    frame.uid.number = call;
    put(&ends->caller, frame, &(struct cluster_body){.bulk_open = {index, sink}});
}

/* r[verify cluster.stream.open] */
static void a_number_that_was_used_is_refused(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    settle(ends);
    put_open(ends, 1, CALL + 1, 0, false);
    called_refuses(ends, "cluster.stream.open");
}

/* r[verify cluster.stream.open] */
static void a_stream_that_is_none_of_its_call_is_refused(void **state)
{
    static const struct {
        uint32_t index;
        bool sink;
    } wrong[] = {{0, false}, {0, true}, {1, false}, {15, false}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ends *ends = *state;

        begin(ends, 1, 0);
        settle(ends);
        put_open(ends, 2, CALL, wrong[i].index, wrong[i].sink);
        called_refuses(ends, "cluster.stream.open");
        tear_down(state);
        set_up(state);
    }
}

/* r[verify cluster.stream.late] r[verify cluster.stream.open] */
static void only_what_had_credit_may_come_late(void **state)
{
    struct ends *ends = *state;

    begin(ends, 1, 0);
    want(ends, 0);
    settle(ends);
    cluster_streams_remove(&ends->called.streams, ends->called.call);
    put_data(&ends->caller, 1, WINDOW);
    put(&ends->caller, frame_of(CLUSTER_FRAME_BULK_DONE, 1), &none);
    put_open(ends, 2, CALL, 0, false); /* it has ended: that is none */
    settle(ends);
    assert_int_equal(ends->called.failed, 0);
    put_data(&ends->caller, 1, 1);
    called_refuses(ends, "cluster.stream.credit");
}

/* r[verify cluster.stream.bounds] */
static void there_are_only_so_many_streams(void **state)
{
    struct ends *ends = *state;
    struct cluster_call_streams_order order = {
        .call = 1, .patience_ns = 1, .come = 0xffff, .bell = ends->caller.bell};
    struct cluster_call_streams *all = NULL, *more = NULL;
    struct hub_budget *budget = hub_budget_create(2 * WINDOW);

    assert_int_equal(cluster_call_streams_make(&order, &all), 0); /* 16 */
    order.come = 1;
    assert_int_equal(cluster_call_streams_make(&order, &more), RAPAHUB_EBUSY);
    cluster_call_streams_drop(&all);
    order.budget = budget;
    order.go = 6;
    assert_int_equal(cluster_call_streams_make(&order, &more), RAPAHUB_EBUSY);
    order.go = 2;
    assert_int_equal(cluster_call_streams_make(&order, &more), 0);
    assert_int_equal(hub_load_relaxed64(&budget->used), 2 * WINDOW);
    cluster_call_streams_drop(&more);
    assert_int_equal(hub_load_relaxed64(&budget->used), 0);
    hub_budget_drop(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_without_credit_are_refused),
        TEST(more_bytes_than_there_is_credit_for_are_refused),
        TEST(credit_for_more_than_the_window_is_refused),
        TEST(a_data_frame_without_bytes_is_refused),
        TEST(frames_of_the_wrong_side_are_refused),
        TEST(a_reader_that_writes_is_refused),
        TEST(a_writer_that_gives_credit_is_refused),
        TEST(a_number_that_was_not_opened_is_refused),
        TEST(a_number_that_was_used_is_refused),
        TEST(a_stream_that_is_none_of_its_call_is_refused),
        TEST(only_what_had_credit_may_come_late),
        TEST(there_are_only_so_many_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
