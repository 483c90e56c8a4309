/* SPDX-License-Identifier: Apache-2.0 */
/* Small elements of a corked channel: joined as long as they are not visible, and never later. */
#include <pthread.h>

#include "hub/base/clock.h"
#include "hub/channel/channel_stream.h"
#include "tests/unit/link/channel_pair.h"

static uint64_t sent(struct flow *flow)
{
    return hub_load_relaxed64(&hub_link_counters(flow_sender(flow)->set->link)->sent);
}

/* Credit is charged for what is on the wire, to the byte. */
static void expect(struct flow *flow, const char *bytes, size_t size)
{
    char got[2048];

    flow_sweep(flow);
    assert_int_equal(flow_sender(flow)->sent, flow_receiver(flow)->received);
    assert_int_equal(hub_channel_stream_read(flow_receiver(flow), got, sizeof got), size);
    assert_memory_equal(got, bytes, size);
}

static void open_corked(struct flow *flow)
{
    flow_open(flow, false);
    assert_int_equal(hub_channel_writer_cork(flow_sender(flow), true), 0);
}

static void write_each(struct flow *flow, const char *bytes, size_t size, size_t each)
{
    for (size_t at = 0; at < size; at += each)
        assert_int_equal(hub_channel_writer_write(flow_sender(flow), bytes + at, each), 0);
}

/* In the descriptor, in a slot with a length of one byte, and of two. r[verify hub.ring.cork] */
static void small_ones_are_one_message(void **state)
{
    static const size_t counts[] = {2, 5, 6, 16, 40};
    char bytes[600];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct flow flow;

        open_corked(&flow);
        write_each(&flow, bytes, counts[i] * 6, 6);
        assert_int_equal(sent(&flow), 0);
        flow_sweep(&flow);
        assert_int_equal(hub_fifo_size(&flow_receiver(&flow)->fifo), 0);
        assert_int_equal(hub_channel_writer_cork(flow_sender(&flow), false), 0);
        assert_int_equal(sent(&flow), 1);
        expect(&flow, bytes, counts[i] * 6);
        flow_close(&flow);
    }
}

static void sixty_four_are_shown(void **state)
{
    char bytes[66] = "";
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, bytes, 63, 1);
    flow_sweep(&flow);
    assert_int_equal(hub_fifo_size(&flow_receiver(&flow)->fifo), 0);
    write_each(&flow, bytes, 1, 1);
    expect(&flow, bytes, 64);
    write_each(&flow, bytes, 2, 1);
    assert_int_equal(sent(&flow), 1);
    flow_close(&flow);
}

/* Publishing shows all of them; later elements begin a new batch. */
static void what_was_shown_is_not_changed(void **state)
{
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdef", 6, 3);
    hub_link_push(flow_sender(&flow)->set->link);
    write_each(&flow, "ghi", 3, 3);
    assert_int_equal(sent(&flow), 1);
    flow_sweep(&flow);
    assert_int_equal(hub_fifo_size(&flow_receiver(&flow)->fifo), 6);
    assert_int_equal(hub_channel_writer_cork(flow_sender(&flow), false), 0);
    expect(&flow, "abcdefghi", 9);
    flow_close(&flow);
}

/* A large one between two small ones stays between them. */
static void the_order_is_that_of_the_writes(void **state)
{
    char bytes[740];
    struct flow flow;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 11);
    open_corked(&flow);
    write_each(&flow, bytes, 60, 20);
    write_each(&flow, bytes + 60, 600, 600);
    write_each(&flow, bytes + 660, 80, 20);
    assert_int_equal(hub_channel_writer_cork(flow_sender(&flow), false), 0);
    expect(&flow, bytes, sizeof bytes);
    flow_close(&flow);
}

/* The last message comes after them, and nothing joins them any more. */
static void an_end_closes_them(void **state)
{
    struct flow flow;
    char got[8];

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52, 26);
    assert_int_equal(hub_channel_writer_end(flow_sender(&flow)), 0);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "d", 1), RAPAHUB_ERESET);
    expect(&flow, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52);
    assert_int_equal(hub_channel_stream_read(flow_receiver(&flow), got, 8), 0);
    flow_close(&flow);
}

static void what_nobody_wants_is_not_joined(void **state)
{
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52, 26);
    hub_channel_reset(flow_receiver(&flow));
    flow_sweep(&flow);
    assert_int_equal(hub_channel_writer_write(flow_sender(&flow), "d", 1), RAPAHUB_ERESET);
    flow_close(&flow);
}

/* All slots are out: they take none before they are sent. */
static void what_is_held_back_has_no_slot(void **state)
{
    struct hub_slots *pool;
    struct flow flow;
    struct hub_slot_loan held[4];

    (void)state;
    open_corked(&flow);
    pool = &flow.pair.guest.pool;
    for (int i = 0; i < 4; i++)
        assert_int_equal(hub_slots_loan(pool, flow.pair.peer, 1000, &held[i]), 0);
    write_each(&flow, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52, 26);
    assert_int_equal(sent(&flow), 0);
    hub_link_push(flow_sender(&flow)->set->link);
    assert_int_equal(sent(&flow), 0);
    for (int i = 0; i < 4; i++)
        hub_slots_drop(pool, held[i].slot);
    assert_int_equal(hub_channel_writer_cork(flow_sender(&flow), false), 0);
    expect(&flow, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 52);
    flow_close(&flow);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

/* r[verify hub.ring.cork] */
static void a_thread_that_waits_holds_nothing_back(void **state)
{
    struct hub_link_until until = {.done = never, .stage = HUB_WAIT_SLEEP};
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdef", 6, 3);
    until.deadline_ns = hub_clock_after(HUB_MILLISECOND);
    assert_int_equal(hub_link_wait(flow_sender(&flow)->set->link, &until), -ETIMEDOUT);
    expect(&flow, "abcdef", 6);
    write_each(&flow, "ghi", 3, 3);
    until.deadline_ns = hub_clock_after(HUB_MILLISECOND);
    assert_int_equal(hub_link_lead(flow_sender(&flow)->set->link, &until), -ETIMEDOUT);
    expect(&flow, "ghi", 3);
    write_each(&flow, "j", 1, 1); /* however little it is */
    until.deadline_ns = hub_clock_after(HUB_MILLISECOND);
    assert_int_equal(hub_link_wait(flow_sender(&flow)->set->link, &until), -ETIMEDOUT);
    flow_sweep(&flow);
    assert_int_equal(hub_fifo_size(&flow_receiver(&flow)->fifo), 1);
    expect(&flow, "j", 1);
    flow_close(&flow);
}

/* Its call has ended: what it wrote is in front of its Response. r[verify hub.ring.cork] */
static void an_answer_comes_behind_them(void **state)
{
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdef", 6, 3);
    hub_channels_answer(&flow.callee, false);
    assert_int_equal(sent(&flow), 1);
    flow_close(&flow);
}

static void an_answer_keeps_its_diagnosis(void **state)
{
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdef", 6, 3);
    hub_channel_reset(flow_receiver(&flow));
    flow_sweep(&flow);
    (void)rapahub_fail(RAPAHUB_EINVAL, "", "what the method said");
    hub_channels_answer(&flow.callee, false);
    assert_string_equal(rapahub_last_error()->text, "what the method said");
    assert_int_equal(sent(&flow), 0);
    flow_close(&flow);
}

static void *push(void *user)
{
    hub_link_push(flow_sender(user)->set->link);
    return NULL;
}

static void in_a_thread(void *(*run)(void *user), struct flow *flow)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, flow), 0);
    pthread_join(thread, NULL);
}

static void what_another_thread_writes_stays(void **state)
{
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, "abcdef", 6, 3);
    in_a_thread(push, &flow);
    assert_int_equal(sent(&flow), 0);
    hub_link_push(flow_sender(&flow)->set->link);
    expect(&flow, "abcdef", 6);
    flow_close(&flow);
}

static void *write_on(void *user)
{
    for (char byte = 10; byte < 100; byte++)
        assert_int_equal(hub_channel_writer_write(flow_sender(user), &byte, 1), 0);
    return NULL;
}

/* An earlier writer may wait, and send what it left there, when the next one writes already. */
static void writers_take_turns(void **state)
{
    char bytes[100];
    pthread_t thread;
    struct flow flow;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    for (int round = 0; round < 50; round++) {
        open_corked(&flow);
        write_each(&flow, bytes, 10, 1);
        assert_int_equal(pthread_create(&thread, NULL, write_on, &flow), 0);
        for (int i = 0; i < 20; i++)
            hub_link_push(flow_sender(&flow)->set->link);
        pthread_join(thread, NULL);
        assert_int_equal(hub_channel_writer_cork(flow_sender(&flow), false), 0);
        expect(&flow, bytes, sizeof bytes);
        flow_close(&flow);
    }
}

/* r[verify hub.death.guard] */
static void a_guest_that_was_given_up_sends_nothing(void **state)
{
    char bytes[96] = "";
    struct flow flow;

    (void)state;
    open_corked(&flow);
    write_each(&flow, bytes, sizeof bytes, 6);
    hub_add(&flow.pair.guest.view.entry->epoch, 1);
    assert_true(hub_channel_writer_cork(flow_sender(&flow), false) < 0);
    assert_int_equal(sent(&flow), 0);
    flow_close(&flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_one_message),
        cmocka_unit_test(sixty_four_are_shown),
        cmocka_unit_test(what_was_shown_is_not_changed),
        cmocka_unit_test(the_order_is_that_of_the_writes),
        cmocka_unit_test(an_end_closes_them),
        cmocka_unit_test(what_nobody_wants_is_not_joined),
        cmocka_unit_test(what_is_held_back_has_no_slot),
        cmocka_unit_test(a_thread_that_waits_holds_nothing_back),
        cmocka_unit_test(an_answer_comes_behind_them),
        cmocka_unit_test(an_answer_keeps_its_diagnosis),
        cmocka_unit_test(what_another_thread_writes_stays),
        cmocka_unit_test(writers_take_turns),
        cmocka_unit_test(a_guest_that_was_given_up_sends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
