/* SPDX-License-Identifier: Apache-2.0 */
/* A channel between two honest sides: bytes, credit, ends. */
#include <stdlib.h>

#include "hub/channel/channel_stream.h"
#include "tests/unit/link/channel_pair.h"

/* r[verify core.channel] r[verify channeling.caller-pov] r[verify channeling.data]
 * r[verify flow.channel.all-transports] */
static void bytes_cross_in_order_in_either_direction(void **state)
{
    for (int to_callee = 0; to_callee < 2; to_callee++) {
        struct flow flow;
        char got[8] = "";

        (void)state;
        flow_open(&flow, to_callee);
        assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
        assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "de", 2), 0);
        flow_sweep(&flow);
        assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 4), 4);
        assert_memory_equal(got, "abcd", 4);
        assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 4), 1);
        assert_int_equal(got[0], 'e');
        flow_close(&flow);
    }
}

/* r[verify hub.ring.cork] */
static void what_is_written_corked_comes_when_it_is_uncorked_or_ends(void **state)
{
    struct rapahub_sink *sink;
    struct flow flow;
    char got[8];

    (void)state;
    flow_open(&flow, false);
    sink = hub_channel_sink(flow_sender(&flow));
    assert_int_equal(rapahub_sink_cork(sink, true), 0);
    assert_int_equal(rapahub_sink_write(sink, "ab", 2), 0);
    assert_int_equal(rapahub_sink_write(sink, "c", 1), 0);
    flow_sweep(&flow);
    assert_int_equal(hub_fifo_size(&flow_receiver(&flow)->fifo), 0);
    assert_int_equal(rapahub_sink_cork(sink, false), 0);
    flow_sweep(&flow);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 3);
    assert_memory_equal(got, "abc", 3);
    assert_int_equal(rapahub_sink_cork(sink, true), 0);
    assert_int_equal(rapahub_sink_write(sink, "d", 1), 0);
    assert_int_equal(rapahub_sink_end(sink), 0);
    assert_int_equal(rapahub_sink_cork(sink, false), 0);
    flow_sweep(&flow);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 1);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 0);
    flow_close(&flow);
}

static void to_uncork_what_nobody_reads_tells_it_as_a_write_does(void **state)
{
    struct rapahub_sink *sink;
    struct flow flow;

    (void)state;
    flow_open(&flow, false);
    sink = hub_channel_sink(flow_sender(&flow));
    assert_int_equal(rapahub_sink_cork(sink, true), 0);
    hub_channel_reset(flow_receiver(&flow));
    flow_sweep(&flow);
    assert_int_equal(rapahub_sink_write(sink, "a", 1), RAPAHUB_ERESET);
    assert_int_equal(rapahub_sink_cork(sink, false), RAPAHUB_ERESET);
    flow_close(&flow);
    assert_int_equal(rapahub_sink_of_memory(8, &sink), 0);
    assert_int_equal(rapahub_sink_cork(sink, true), 0); /* it holds nothing back */
    rapahub_sink_destroy(sink);
}

static void *write_corked(void *user)
{
    struct flow *flow = user;
    struct rapahub_sink *sink = hub_channel_sink(flow_sender(flow));
    char bytes[100];

    memset(bytes, 'x', sizeof bytes);
    if (rapahub_sink_cork(sink, true) < 0)
        return flow;
    for (int i = 0; i < 200; i++) /* 20 windows */
        if (rapahub_sink_write(sink, bytes, sizeof bytes) < 0)
            return flow;
    return rapahub_sink_end(sink) < 0 ? flow : NULL;
}

/* A side that waits for credit has published the data that the credit was for.
 * r[verify hub.ring.cork] */
static void a_corked_writer_without_credit_is_not_stuck(void **state)
{
    struct flow flow;
    pthread_t thread;
    ssize_t n, at = 0;
    char piece[333];
    void *failed;

    (void)state;
    flow_open(&flow, false);
    assert_int_equal(pthread_create(&thread, NULL, write_corked, &flow), 0);
    while ((n = hub_channel_stream_read(flow_receiver(&flow), piece, sizeof piece)) > 0)
        at += n;
    assert_int_equal(n, 0);
    assert_int_equal(at, 20000);
    pthread_join(thread, &failed);
    assert_null(failed);
    flow_close(&flow);
}

static void *write_much(void *user)
{
    struct flow *flow = user;
    static char bytes[100000];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    if (hub_channel_writer_write(flow_sender(flow), bytes, sizeof bytes) < 0 ||
        hub_channel_writer_end(flow_sender(flow)) < 0)
        return flow;
    return NULL;
}

/* Reads all; never is more received than was granted. */
static void read_much(struct flow *flow)
{
    struct hub_channel *receiver = flow_receiver(flow);
    size_t at = 0;
    char piece[333];
    ssize_t n;

    while ((n = hub_channel_stream_read(receiver, piece, sizeof piece)) > 0) {
        assert_in_range(receiver->granted - receiver->received, 0, 1024);
        for (ssize_t i = 0; i < n; i++, at++)
            assert_int_equal(piece[i], (char)(at * 7));
    }
    assert_int_equal(n, 0);
    assert_int_equal(at, 100000);
}

/* `first`: where all sums of both sides begin. */
static void stream(bool to_callee, uint32_t first)
{
    struct flow flow;
    pthread_t thread;
    void *failed;

    flow_open(&flow, to_callee);
    flow_receiver(&flow)->received = flow_sender(&flow)->sent = first;
    flow_receiver(&flow)->granted += first;
    flow_sender(&flow)->granted += first;
    hub_channel_table_grant(hub_channel_entry_of(flow_sender(&flow)), 1024 + first);
    assert_int_equal(pthread_create(&thread, NULL, write_much, &flow), 0);
    read_much(&flow);
    pthread_join(thread, &failed);
    assert_null(failed);
    flow_close(&flow);
}

/* r[verify flow.channel.credit-based] r[verify flow.channel.credit-consume]
 * r[verify flow.channel.zero-credit] r[verify flow.channel.credit-additive]
 * r[verify shm.flow.zero-credit] r[verify shm.wakeup.credit-wait]
 * r[verify flow.channel.close-exempt] */
static void a_hundred_windows_pass(void **state)
{
    (void)state;
    stream(true, 0);
    stream(false, 0);
}

/* r[verify shm.flow.counter-per-channel] */
static void the_sums_run_over_the_end_of_their_range(void **state)
{
    (void)state;
    stream(true, 0xfffffff0);
    stream(false, 0xffff0000);
}

/* r[verify shm.bytes.what-counts] r[verify flow.channel.byte-accounting]
 * r[verify hub.channel.grant] r[verify flow.channel.credit-prompt] */
static void credit_comes_back_at_half_or_when_all_is_taken(void **state)
{
    struct hub_channel_entry *entry;
    char bytes[1000] = "";
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    entry = hub_channel_entry_of(flow_sender(&flow));
    for (int i = 0; i < 4; i++) /* 4 elements of 100 bytes and their length */
        assert_int_equal(hub_channel_writer_write(flow_sender(&flow), bytes, 100), 0);
    flow_sweep(&flow);
    assert_int_equal(flow_sender(&flow)->sent, 404);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, 300), 300);
    assert_int_equal(hub_channel_table_granted(entry), 1024); /* 303 are less than half */
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, 50), 50);
    assert_int_equal(hub_channel_table_granted(entry), 1024);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, 50), 50);
    assert_int_equal(hub_channel_table_granted(entry), 1024 + 404); /* nothing is left */
    for (int i = 0; i < 6; i++) {
        assert_int_equal(hub_channel_writer_write(flow_sender(&flow), bytes, 100), 0);
        flow_sweep(&flow);
    }
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, 506), 506);
    assert_int_equal(hub_channel_table_granted(entry), 1024 + 404); /* 511 */
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, 1), 1);
    assert_int_equal(hub_channel_table_granted(entry), 1024 + 404 + 512);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), bytes, 94), 93);
    assert_int_equal(hub_channel_table_granted(entry), 1024 + 404 + 606);
    flow_close(&flow);
}

/* The smallest window that carries anything at all. */
static void a_tiny_window_is_slow_and_not_stuck(void **state)
{
    struct hub_limits limits = flow_limits();
    struct flow flow = {.caller.count = 0};
    char got[4];

    (void)state;
    limits.credit_size = 2;
    pair_open(&flow.pair, &limits, 0);
    flow_open_channel(&flow, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "x", 1), 0);
        flow_sweep(&flow);
        assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 4), 1);
    }
    flow_close(&flow);
    limits.credit_size = 1;
    pair_open(&flow.pair, &limits, 0);
    flow_open_channel(&flow, true);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "x", 1), RAPAHUB_EMSGSIZE);
    flow_close(&flow);
}

/* r[verify channeling.close] r[verify channeling.lifecycle.caller-closes-pushes]
 * r[verify channeling.id.uniqueness] */
static void the_end_comes_behind_the_last_byte_and_frees_the_id(void **state)
{
    struct flow flow;
    uint32_t id;
    char got[8];

    (void)state;
    flow_open(&flow, true);
    id = hub_channel_id(flow_sender(&flow));
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "d", 1), RAPAHUB_ERESET);
    assert_false(hub_channel_table_is_free(hub_channel_entry_of(flow_sender(&flow))));
    flow_sweep(&flow);
    assert_true(hub_channel_table_is_free(&flow_host(&flow)->entries[id]));
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 3);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 0);
    flow_answer(&flow);
    assert_int_equal(hub_channels_count(flow_host(&flow)), 0);
    assert_int_equal(hub_channels_count(flow_guest(&flow)), 0);
    flow_close(&flow);
}

/* r[verify channeling.lifecycle.response-closes-pulls] r[verify channeling.call-complete] */
static void the_response_ends_what_the_callee_writes(void **state)
{
    struct flow flow;
    char got[8];

    (void)state;
    flow_open(&flow, false);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    hub_channels_answer(&flow.callee, false);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "d", 1), RAPAHUB_ERESET);
    flow_sweep(&flow);
    hub_channels_answered(&flow.caller, false);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 3);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 0);
    assert_true(hub_channel_table_is_free(hub_channel_entry_of(flow_receiver(&flow))));
    flow_close(&flow);
}

/* r[verify channeling.channels-outlive-response] */
static void what_the_caller_sends_may_outlive_the_response(void **state)
{
    struct flow flow;
    char got[8];

    (void)state;
    flow_open(&flow, true);
    hub_channels_answer(&flow.callee, false);
    hub_channels_answered(&flow.caller, false);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
    flow_sweep(&flow);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 3);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 0);
    flow_close(&flow);
}

/* r[verify channeling.reset] r[verify channeling.reset.effect] r[verify channeling.reset.credit]
 * r[verify shm.flow.reset] */
static void a_reader_that_wants_no_more_is_obeyed(void **state)
{
    struct hub_channel_entry *entry;
    struct flow flow;
    char got[8];

    (void)state;
    flow_open(&flow, true);
    entry = hub_channel_entry_of(flow_sender(&flow));
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    (void)hub_link_sweep(flow.pair.guest.connection.link, 64);
    hub_channel_reset(flow_receiver(&flow));
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "def", 3),
                     0); /* crosses the Reset */
    (void)hub_link_sweep(flow.pair.guest.connection.link, 64);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), RAPAHUB_ERESET);
    assert_false(hub_channel_table_is_free(entry));
    flow_sweep(&flow);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "ghi", 3), RAPAHUB_ERESET);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), RAPAHUB_ERESET);
    assert_int_equal(hub_channel_table_granted(entry), 1024); /* not touched after the Reset */
    assert_true(hub_channel_table_is_free(entry));
    flow_close(&flow);
}

static void two_resets_may_cross(void **state)
{
    for (int to_callee = 0; to_callee < 2; to_callee++) {
        struct flow flow;

        (void)state;
        flow_open(&flow, to_callee);
        hub_channel_reset(flow_receiver(&flow));
        hub_channel_reset(flow_sender(&flow));
        flow_sweep(&flow);
        flow_answer(&flow);
        assert_false(hub_link_closed(flow.pair.host.connection.link));
        assert_false(hub_link_closed(flow.pair.guest.connection.link));
        assert_int_equal(hub_channels_count(flow_host(&flow)), 0);
        assert_int_equal(hub_channels_count(flow_guest(&flow)), 0);
        flow_close(&flow);
    }
}

static void a_writer_that_breaks_off_is_told_behind_its_bytes(void **state)
{
    struct flow flow;
    char got[8];

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    hub_channel_reset(flow_sender(&flow));
    flow_sweep(&flow);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 3);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), RAPAHUB_ERESET);
    flow_close(&flow);
}

/* A Reset that finds no space goes out as soon as there is some. */
static void a_reset_waits_for_space_by_itself(void **state)
{
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    while (flow_send(&flow.pair.host, HUB_CANCEL, 77, "", 0) == 0)
        continue;
    hub_channel_reset(flow_sender(&flow));
    assert_int_equal(flow_receiver(&flow)->stage, HUB_CHANNEL_OPEN);
    (void)hub_link_sweep(flow.pair.guest.connection.link, 64);
    assert_int_equal(flow_receiver(&flow)->stage, HUB_CHANNEL_OPEN);
    flow_sweep(&flow); /* the host looks around, and sends it */
    assert_int_equal(flow_receiver(&flow)->stage, HUB_CHANNEL_RESET);
    flow_close(&flow);
}

static void *read_one(void *user)
{
    char byte;

    return (void *)hub_channel_stream_read(flow_receiver(user), &byte, 1);
}

static void a_stop_ends_a_wait(void **state)
{
    struct flow flow;
    pthread_t thread;
    void *n;

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(pthread_create(&thread, NULL, read_one, &flow), 0);
    hub_channel_stop(flow_receiver(&flow), true);
    pthread_join(thread, &n);
    assert_int_equal((ssize_t)n, RAPAHUB_ECANCELED);
    hub_channel_stop(flow_receiver(&flow), false);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "a", 1), 0);
    flow_sweep(&flow);
    assert_int_equal((ssize_t)read_one(&flow), 1);
    flow_close(&flow);
}

/* r[verify message.goodbye.receive] */
static void the_end_of_the_link_comes_behind_what_was_received(void **state)
{
    struct flow flow;
    char got[8];

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    flow_sweep(&flow);
    hub_link_close(flow.pair.guest.connection.link, RAPAHUB_EDIED, "");
    hub_link_close(flow.pair.host.connection.link, RAPAHUB_EDIED, "");
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 3);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), RAPAHUB_EDIED);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), RAPAHUB_EDIED);
    flow_close(&flow);
}

struct late {
    struct flow *flow;
    int written, ended;
};

/* The peer is proven dead while this thread receives: the link closes only when it lets go. */
static bool write_late(void *user)
{
    struct late *late = user;
    struct hub_channel *sender = flow_sender(late->flow);

    hub_link_dead(late->flow->pair.host.connection.link);
    late->written = hub_channel_writer_write(sender, "abc", 3);
    assert_string_equal(rapahub_last_error()->text, "the stream ended with its link");
    late->ended = hub_channel_writer_end(sender);
    return true;
}

/* "Nothing was executed" is said of calls, which are then made again; not of a stream. */
static void a_stream_to_a_dead_peer_is_no_call_that_was_not_executed(void **state)
{
    struct flow flow;
    struct late late = {.flow = &flow};
    const struct hub_link_until until = {
        .done = write_late, .user = &late, .stage = HUB_WAIT_SPIN, .deadline_ns = HUB_NEVER};

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(hub_link_lead(flow.pair.host.connection.link, &until), 0);
    assert_int_equal(late.written, RAPAHUB_EDIED);
    assert_int_equal(late.ended, RAPAHUB_EDIED);
    flow_close(&flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_cross_in_order_in_either_direction),
        cmocka_unit_test(what_is_written_corked_comes_when_it_is_uncorked_or_ends),
        cmocka_unit_test(to_uncork_what_nobody_reads_tells_it_as_a_write_does),
        cmocka_unit_test(a_corked_writer_without_credit_is_not_stuck),
        cmocka_unit_test(a_hundred_windows_pass),
        cmocka_unit_test(the_sums_run_over_the_end_of_their_range),
        cmocka_unit_test(credit_comes_back_at_half_or_when_all_is_taken),
        cmocka_unit_test(a_tiny_window_is_slow_and_not_stuck),
        cmocka_unit_test(the_end_comes_behind_the_last_byte_and_frees_the_id),
        cmocka_unit_test(the_response_ends_what_the_callee_writes),
        cmocka_unit_test(what_the_caller_sends_may_outlive_the_response),
        cmocka_unit_test(a_reader_that_wants_no_more_is_obeyed),
        cmocka_unit_test(two_resets_may_cross),
        cmocka_unit_test(a_writer_that_breaks_off_is_told_behind_its_bytes),
        cmocka_unit_test(a_reset_waits_for_space_by_itself),
        cmocka_unit_test(a_stop_ends_a_wait),
        cmocka_unit_test(the_end_of_the_link_comes_behind_what_was_received),
        cmocka_unit_test(a_stream_to_a_dead_peer_is_no_call_that_was_not_executed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
