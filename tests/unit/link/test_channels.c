/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a link's channels, and what calls do to them. */
#include <sched.h>

#include "hub/channel/channel_stream.h"
#include "tests/support/pause.h"
#include "tests/unit/link/channel_pair.h"

static struct hub_channel *open_one(struct hub_channels *set)
{
    struct hub_channel *channel = NULL;
    int r = hub_channels_open(set, true, 0, &channel);

    assert_true(r == 0 || r == RAPAHUB_EBUSY);
    return channel;
}

/* r[verify channeling.allocation.caller] r[verify channeling.id.parity]
 * r[verify shm.id.channel-parity] */
static void the_host_has_even_ids_and_the_guest_odd_ones(void **state)
{
    struct hub_channel *channels[16];
    struct flow flow;
    uint32_t n = 0;

    (void)state;
    flow_open(&flow, true);
    assert_int_equal(hub_channel_id(flow.caller.list[0]), 2);
    while ((channels[n] = open_one(flow_host(&flow))))
        assert_int_equal(hub_channel_id(channels[n]), 4 + 2 * n), n++;
    assert_int_equal(n, 6); /* 4, 6, … 14 of 16 entries */
    while (n > 0)
        hub_channel_release(&channels[--n]);
    while ((channels[n] = open_one(flow_guest(&flow))))
        assert_int_equal(hub_channel_id(channels[n]), 1 + 2 * n), n++;
    assert_int_equal(n, 8);
    while (n > 0)
        hub_channel_release(&channels[--n]);
    flow_close(&flow);
}

/* r[verify shm.id.channel-scope] */
static void two_links_use_the_same_ids_apart(void **state)
{
    struct flow one, other;

    (void)state;
    flow_open(&one, true);
    flow_open(&other, true);
    assert_int_equal(hub_channel_id(one.caller.list[0]), hub_channel_id(other.caller.list[0]));
    assert_int_equal(hub_channel_writer_write(flow_sender(&one), "abc", 3), 0);
    flow_sweep(&one);
    flow_sweep(&other);
    assert_int_equal(hub_fifo_size(&flow_receiver(&other)->fifo), 0);
    flow_close(&one);
    flow_close(&other);
}

/* r[verify shm.flow.channel-id-reuse] */
static void ids_come_round_and_none_is_lost(void **state)
{
    uint32_t seen[16] = {0};
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    for (int i = 0; i < 70; i++) {
        seen[hub_channel_id(flow.caller.list[0])]++;
        if (i % 3 == 0)
            hub_channel_reset(flow_receiver(&flow));
        else if (i % 3 == 1)
            assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
        flow_sweep(&flow);
        flow_answer(&flow);
        flow_open_channel(&flow, i % 2 == 0);
    }
    for (uint32_t id = 2; id < 16; id += 2)
        assert_in_range(seen[id], 9, 11); /* the oldest first */
    flow_close(&flow);
}

/* r[verify channeling.lifecycle.speculative] r[verify hub.channel.orphan] */
static void ids_of_a_refused_call_are_free_at_once(void **state)
{
    struct flow flow;
    uint32_t id;

    (void)state;
    flow_open(&flow, true);
    id = hub_channel_id(flow_sender(&flow));
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "abc", 3), 0);
    hub_channels_answer(&flow.callee, true);
    hub_channels_drop(&flow.callee);
    hub_channels_answered(&flow.caller, true);
    assert_true(hub_channel_table_is_free(&flow_host(&flow)->entries[id]));
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "def", 3), RAPAHUB_ERESET);
    flow_sweep(&flow); /* data on its way is ignored */
    assert_false(hub_link_closed(flow.pair.guest.connection.link));
    flow_close(&flow);
}

/* Its callee never saw the Close as one of a channel it knows, and frees nothing. */
static void an_id_that_was_closed_before_its_call_was_refused_is_not_lost(void **state)
{
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    for (int i = 0; i < 20; i++) {
        uint32_t id = hub_channel_id(flow_sender(&flow));

        assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
        hub_channels_answer(&flow.callee, true);
        hub_channels_drop(&flow.callee);
        flow_sweep(&flow);
        hub_channels_answered(&flow.caller, true);
        assert_true(hub_channel_table_is_free(&flow_host(&flow)->entries[id]));
        hub_channels_drop(&flow.caller);
        flow_open_channel(&flow, true);
    }
    flow_close(&flow);
}

/* r[verify hub.channel.orphan] */
static void what_comes_for_a_request_that_was_refused_is_ignored_and_counted(void **state)
{
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    hub_channels_refused(flow_guest(&flow));
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 6, "\1x", 2), 0);
    assert_int_equal(flow_send(&flow.pair.host, HUB_CLOSE, 6, "", 0), 0);
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 64), 2);
    assert_int_equal(hub_channels_orphans(flow_guest(&flow)), 2);
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 7, "\1x", 2), 0); /* never the host's */
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 64), RAPAHUB_EPROTOCOL);
    assert_string_equal(hub_link_rule(flow.pair.guest.connection.link), "channeling.unknown");
    flow_close(&flow);
}

static int know_no_streams(void *user, struct hub_request *request,
                           struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    (void)user;
    (void)request;
    (void)names;
    return RAPAHUB_ENOMETHOD;
}

/* The answer may be long in coming, and its caller does not wait for it. r[verify
 * hub.channel.orphan] */
static void what_comes_right_behind_a_request_of_an_unknown_method_is_ignored(void **state)
{
    struct hub_link *link;
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    link = flow.pair.guest.connection.link;
    hub_inbound_calls_find_streams(flow.pair.guest.connection.served, know_no_streams, NULL);
    assert_int_equal(flow_send(&flow.pair.host, HUB_REQUEST, 1, "\0\6", 2), 0);
    assert_int_equal(flow_send(&flow.pair.host, HUB_DATA, 6, "\1x", 2), 0);
    assert_int_equal(hub_link_sweep(link, 64), 2);
    assert_false(hub_link_closed(link));
    assert_int_equal(hub_channels_orphans(flow_guest(&flow)), 1);
    flow_close(&flow);
}

static int name_a_sink(void *user, struct hub_request *request,
                       struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    (void)user;
    (void)request;
    names[0] = (struct hub_channel_name){1, true};
    return 1;
}

static int name_the_next_sink(void *user, struct hub_request *request,
                              struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    (void)user;
    (void)request;
    names[0] = (struct hub_channel_name){4, true};
    return 1;
}

/* Else its caller takes what was broken off for the end, and the Reset for another's. */
static void a_reset_that_waits_for_space_goes_before_the_response(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_channel_list list = {.count = 1};
    const struct hub_call call = {
        .payload = {.head = {"", 1}}, .deadline_ns = hub_clock_after(SOON), .channels = &list};
    struct hub_request *request;
    struct hub_inbound_calls *served;
    struct flow flow;
    uint64_t number;

    (void)state;
    flow_open(&flow, true);
    served = flow.pair.host.connection.served;
    hub_inbound_calls_find_streams(served, name_a_sink, NULL);
    assert_int_equal(hub_channels_open(flow_guest(&flow), false, 0, &list.list[0]), 0);
    assert_int_equal(hub_calls_begin(flow.pair.guest.connection.calls, &call, &number), 0);
    assert_int_equal(hub_link_sweep(flow.pair.host.connection.link, 1), 1);
    request = hub_inbound_calls_next(served, NULL, NULL);
    while (flow_send(&flow.pair.host, HUB_CANCEL, 77, "", 0) == 0)
        continue;
    hub_channel_reset(request->channels.list[0]);
    assert_int_equal(
        hub_inbound_calls_answer(served, request, &ok, (struct rapahub_bytes){NULL, 0}), 0);
    flow_sweep(&flow);
    assert_true(hub_calls_ended(flow.pair.guest.connection.calls, number));
    assert_int_equal(list.list[0]->stage, HUB_CHANNEL_RESET);
    hub_channels_drop(&list);
    flow_close(&flow);
}

/* The guest waits for space when this begins. */
static void *sweep_host(void *user)
{
    struct flow *flow = user;
    struct hub_link *link = flow->pair.host.connection.link;

    pause_ms(20);
    for (int i = 0; i < 100 && hub_link_sweep(link, 64) >= 0; i++)
        pause_ms(1);
    return NULL;
}

/* The host is the caller; a guest waits until there is space for both. */
static void a_reset_goes_before_a_response_that_waits_for_space_too(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_channel_list list = {.count = 1};
    const struct hub_call call = {
        .payload = {.head = {"", 1}}, .deadline_ns = hub_clock_after(SOON), .channels = &list};
    struct hub_request *request;
    struct hub_inbound_calls *served;
    struct flow flow;
    pthread_t thread;
    uint64_t number;

    (void)state;
    flow_open(&flow, true);
    served = flow.pair.guest.connection.served;
    hub_inbound_calls_find_streams(served, name_the_next_sink, NULL);
    assert_int_equal(hub_channels_open(flow_host(&flow), false, 0, &list.list[0]), 0);
    assert_int_equal(hub_calls_begin(flow.pair.host.connection.calls, &call, &number), 0);
    assert_int_equal(hub_link_sweep(flow.pair.guest.connection.link, 1), 1);
    request = hub_inbound_calls_next(served, NULL, NULL);
    assert_non_null(request);
    while (flow_send(&flow.pair.guest, HUB_CANCEL, 77, "", 0) == 0)
        continue;
    hub_channel_reset(request->channels.list[0]);
    assert_int_equal(pthread_create(&thread, NULL, sweep_host, &flow), 0);
    assert_int_equal(
        hub_inbound_calls_answer(served, request, &ok, (struct rapahub_bytes){NULL, 0}), 0);
    pthread_join(thread, NULL);
    flow_sweep(&flow);
    assert_true(hub_calls_ended(flow.pair.host.connection.calls, number));
    assert_int_equal(list.list[0]->stage, HUB_CHANNEL_RESET);
    hub_channels_drop(&list);
    flow_close(&flow);
}

static void a_call_that_was_never_sent_leaves_nothing(void **state)
{
    struct flow flow;

    (void)state;
    flow_open(&flow, true);
    hub_channels_drop(&flow.callee);
    hub_channels_discard(&flow.caller);
    for (int i = 0; i < 7; i++) {
        struct hub_channel_list list = {.count = 1};

        list.list[0] = open_one(flow_host(&flow));
        assert_non_null(list.list[0]);
        hub_channels_discard(&list);
    }
    assert_int_equal(hub_channels_count(flow_host(&flow)), 0);
    flow_close(&flow);
}

/* Waits for an id, which comes when the receiver frees it. */
static void *open_patiently(void *user)
{
    struct hub_channel *channel = NULL;

    return hub_channels_open(flow_host(user), true, hub_clock_after(SOON), &channel) == 0 ? channel
                                                                                          : NULL;
}

static void who_waits_for_an_id_gets_the_next_free_one(void **state)
{
    struct hub_channel *others[6];
    struct flow flow;
    pthread_t thread;
    void *got;

    (void)state;
    flow_open(&flow, true);
    for (int i = 0; i < 6; i++)
        others[i] = open_one(flow_host(&flow));
    assert_int_equal(pthread_create(&thread, NULL, open_patiently, &flow), 0);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
    while (hub_channels_count(flow_guest(&flow)) > 0)
        (void)hub_link_sweep(flow.pair.guest.connection.link, 64);
    pthread_join(thread, &got);
    assert_non_null(got);
    assert_int_equal(hub_channel_id(got), 2);
    for (int i = 0; i < 6; i++)
        hub_channel_release(&others[i]);
    hub_channel_release(&(struct hub_channel *){got});
    flow_close(&flow);
}

static void *close_host_side(void *user)
{
    struct flow *flow = user;

    hub_link_close(flow->pair.host.connection.link, RAPAHUB_EDIED, "");
    return NULL;
}

/* A thread that closes the link has ended the calls and not the streams yet.
 * r[verify supervise.pending] */
static void a_connection_is_over_behind_its_streams(void **state)
{
    struct hub_connection *connection;
    struct flow flow;
    pthread_t thread;

    (void)state;
    flow_open(&flow, true);
    connection = &flow.pair.host.connection;
    hub_mutex_lock(&connection->channels->lock);
    assert_int_equal(pthread_create(&thread, NULL, close_host_side, &flow), 0);
    while (!hub_link_closed(connection->link))
        sched_yield();
    pause_ms(20);
    assert_false(hub_connection_over(connection));
    hub_mutex_unlock(&connection->channels->lock);
    pthread_join(thread, NULL);
    assert_true(hub_connection_over(connection));
    flow_close(&flow);
}

/* ---- ends ---- */

static void *read_one(void *user)
{
    char byte;

    return (void *)hub_channel_stream_read(flow_receiver(user), &byte, 1);
}

/* r[verify message.goodbye.receive] */
static void a_goodbye_ends_who_reads(void **state)
{
    struct timespec until;
    struct flow flow;
    pthread_t thread;
    void *n = NULL;

    (void)state;
    flow_open(&flow, false);
    assert_int_equal(pthread_create(&thread, NULL, read_one, &flow), 0);
    hub_link_say_goodbye(flow.pair.guest.connection.link, "", "going home");
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
    until.tv_sec += 10;
    assert_int_equal(pthread_timedjoin_np(thread, &n, &until), 0);
    assert_int_equal((ssize_t)n, RAPAHUB_ECLOSED);
    assert_string_equal(flow.pair.host.goodbye, "going home");
    flow_close(&flow);
}

static void *end_it(void *user)
{
    return (void *)(ssize_t)hub_channel_writer_end(flow_sender(user));
}

/* Else its reader would wait for more. */
static void an_end_that_is_stopped_without_space_becomes_a_reset(void **state)
{
    struct hub_channel *sender;
    enum hub_channel_stage stage;
    struct flow flow;
    pthread_t thread;
    void *r;

    (void)state;
    flow_open(&flow, true);
    sender = flow_sender(&flow);
    while (flow_send(&flow.pair.host, HUB_CANCEL, 77, "", 0) == 0)
        continue;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &flow), 0);
    do {
        sched_yield();
        hub_mutex_lock(&flow_host(&flow)->lock);
        stage = sender->stage;
        hub_mutex_unlock(&flow_host(&flow)->lock);
    } while (stage != HUB_CHANNEL_ENDED);
    hub_channel_stop(sender, true);
    pthread_join(thread, &r);
    assert_int_equal((ssize_t)r, RAPAHUB_ECANCELED);
    flow_sweep(&flow);
    assert_int_equal(flow_receiver(&flow)->stage, HUB_CHANNEL_RESET);
    flow_close(&flow);
}

/* There is no reader meanwhile. r[verify flow.channel.close-exempt] */
static void a_stream_ends_without_credit(void **state)
{
    static char bytes[1024], got[1025];
    struct hub_channel *sender;
    struct timespec until;
    struct flow flow;
    pthread_t thread;
    void *r = &flow;
    size_t rest;

    (void)state;
    flow_open(&flow, true);
    sender = flow_sender(&flow);
    assert_int_equal(hub_channel_writer_write(sender, bytes, 500), 0);
    rest = sender->granted - sender->sent - (sender->sent - 500); /* each has its length in front */
    assert_int_equal(hub_channel_writer_write(sender, bytes, rest), 0);
    assert_int_equal(sender->granted - sender->sent, 0);
    assert_int_equal(pthread_create(&thread, NULL, end_it, &flow), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
    until.tv_sec += 10;
    assert_int_equal(pthread_timedjoin_np(thread, &r, &until), 0);
    assert_null(r);
    flow_sweep(&flow);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, sizeof got), 500 + rest);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, sizeof got), 0);
    flow_close(&flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_has_even_ids_and_the_guest_odd_ones),
        cmocka_unit_test(two_links_use_the_same_ids_apart),
        cmocka_unit_test(ids_come_round_and_none_is_lost),
        cmocka_unit_test(ids_of_a_refused_call_are_free_at_once),
        cmocka_unit_test(an_id_that_was_closed_before_its_call_was_refused_is_not_lost),
        cmocka_unit_test(what_comes_for_a_request_that_was_refused_is_ignored_and_counted),
        cmocka_unit_test(what_comes_right_behind_a_request_of_an_unknown_method_is_ignored),
        cmocka_unit_test(a_reset_that_waits_for_space_goes_before_the_response),
        cmocka_unit_test(a_reset_goes_before_a_response_that_waits_for_space_too),
        cmocka_unit_test(a_call_that_was_never_sent_leaves_nothing),
        cmocka_unit_test(who_waits_for_an_id_gets_the_next_free_one),
        cmocka_unit_test(a_connection_is_over_behind_its_streams),
        cmocka_unit_test(a_goodbye_ends_who_reads),
        cmocka_unit_test(an_end_that_is_stopped_without_space_becomes_a_reset),
        cmocka_unit_test(a_stream_ends_without_credit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
