/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that others follow soon: held back, and published together. */
#include <sched.h>

#include "hub/call/call_ends.h"
#include "tests/unit/link/pair.h"

#define SIZE_IN_SLOT 100

static int send_with(struct end *end, uint32_t id, size_t size, bool more)
{
    static const uint8_t bytes[SIZE_IN_SLOT];
    const struct hub_message message = {HUB_REQUEST, id, 99};
    const struct hub_parts parts = {.head = {bytes, size}, .more = more};

    return hub_link_send(end->connection.link, &message, &parts, 0);
}

static void hold(struct end *end, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(send_with(end, from + i, 1, true), 0);
}

static int received(struct end *end)
{
    return hub_link_sweep(end->connection.link, 128);
}

/* How often it was looked whether the peer sleeps: once for each publication. */
static uint64_t wakes(const struct end *end)
{
    const struct hub_wait *wait = hub_link_wakes(end->connection.link);

    return hub_load_relaxed64(&wait->wakes_futex) + hub_load_relaxed64(&wait->wakes_bell) +
           hub_load_relaxed64(&wait->wakes_saved);
}

static void open_with(struct pair *pair, uint32_t ring_size)
{
    struct hub_limits limits = pair_limits();

    limits.ring_size = ring_size;
    pair_open(pair, &limits, 0xfffffff0);
}

/* r[verify hub.ring.cork] */
static void what_more_follows_is_seen_at_the_push_and_wakes_once(void **state)
{
    struct pair pair;
    uint64_t before;

    (void)state;
    open_with(&pair, 32);
    before = wakes(&pair.host);
    hold(&pair.host, 1, 5);
    assert_int_equal(wakes(&pair.host), before);
    assert_int_equal(received(&pair.guest), 0);
    before = wakes(&pair.host);
    hub_link_push(pair.host.connection.link);
    hub_link_push(pair.host.connection.link);
    assert_int_equal(wakes(&pair.host), before + 1);
    assert_int_equal(received(&pair.guest), 5);
    for (uint32_t i = 1; i <= 5; i++)
        assert_int_equal(hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL)->id, i);
    pair_close(&pair);
}

/* r[verify hub.ring.cork] */
static void a_message_with_nothing_behind_it_shows_all(void **state)
{
    struct pair pair;

    (void)state;
    open_with(&pair, 32);
    hold(&pair.guest, 1, 3);
    assert_int_equal(send_with(&pair.guest, 4, 1, false), 0);
    assert_int_equal(received(&pair.host), 4);
    hold(&pair.guest, 5, 1); /* and it is held back again */
    assert_int_equal(received(&pair.host), 0);
    pair_close(&pair);
}

/* r[verify hub.ring.cork] */
static void the_64th_shows_all(void **state)
{
    struct pair pair;

    (void)state;
    open_with(&pair, 256);
    hold(&pair.host, 1, 63);
    assert_int_equal(received(&pair.guest), 0);
    hold(&pair.host, 64, 1);
    assert_int_equal(received(&pair.guest), 64);
    pair_close(&pair);
}

/* r[verify hub.ring.cork] */
static void the_one_that_fills_the_ring_shows_all(void **state)
{
    struct pair pair;

    (void)state;
    open_with(&pair, 8);
    hold(&pair.host, 1, 6);
    assert_int_equal(received(&pair.guest), 0);
    hold(&pair.host, 7, 1);
    assert_int_equal(received(&pair.guest), 7);
    pair_close(&pair);
}

/* The peer gives no slot back of what it does not see. r[verify hub.ring.cork] */
static void one_that_finds_no_slot_shows_what_was_before_it(void **state)
{
    struct pair pair;

    (void)state;
    open_with(&pair, 32);
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(send_with(&pair.host, i, SIZE_IN_SLOT, true), 0);
    assert_int_equal(received(&pair.guest), 0);
    assert_int_equal(send_with(&pair.host, 5, SIZE_IN_SLOT, true), -EAGAIN);
    assert_int_equal(received(&pair.guest), 4);
    assert_int_equal(send_with(&pair.host, 5, SIZE_IN_SLOT, true), 0);
    pair_close(&pair);
}

/* Looks whether the peer sees anything, and has no end. */
struct waiter {
    struct pair *pair;
    bool seen;
};

static bool look(void *user)
{
    struct waiter *waiter = user;

    waiter->seen = waiter->seen || received(&waiter->pair->guest) > 0;
    return false;
}

/* r[verify hub.ring.cork] */
static void who_waits_shows_what_it_held_back(void **state)
{
    static int (*const waits[])(struct hub_link *, const struct hub_link_until *) = {hub_link_lead,
                                                                                     hub_link_wait};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair pair;
        struct waiter waiter = {.pair = &pair};
        const struct hub_link_until until = {.done = look,
                                             .user = &waiter,
                                             .stage = HUB_WAIT_SLEEP,
                                             .deadline_ns = hub_clock_after(HUB_MILLISECOND)};

        open_with(&pair, 32);
        hold(&pair.host, 1, 3);
        assert_int_equal(waits[i](pair.host.connection.link, &until), -ETIMEDOUT);
        assert_true(waiter.seen);
        pair_close(&pair);
    }
}

static void *lead(void *user)
{
    struct end *end = user;
    const struct hub_link_until until = {.done = pair_has_work,
                                         .user = end,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(SOON)};

    (void)hub_link_lead(end->connection.link, &until);
    return NULL;
}

/* The wait then fails at once, or there is a wait for the leader. r[verify hub.ring.cork] */
static void who_cannot_lead_shows_it_too(void **state)
{
    struct hub_link_until until = {.done = pair_has_work, .stage = HUB_WAIT_SPIN};
    pthread_t thread;
    struct pair pair;

    (void)state;
    open_with(&pair, 32);
    assert_int_equal(pthread_create(&thread, NULL, lead, &pair.host), 0);
    while (!hub_link_receiving(pair.host.connection.link))
        sched_yield();
    hold(&pair.host, 1, 3);
    until.user = &pair.host;
    until.deadline_ns = hub_clock_after(HUB_MILLISECOND);
    assert_int_equal(hub_link_lead(pair.host.connection.link, &until), -EBUSY);
    assert_int_equal(received(&pair.guest), 3);
    assert_int_equal(send_with(&pair.guest, 1, 1, false), 0);
    pthread_join(thread, NULL);
    pair_close(&pair);
}

/* r[verify hub.ring.cork] r[verify shm.goodbye.guest] */
static void who_leaves_shows_what_it_held_back(void **state)
{
    struct pair pair;

    (void)state;
    open_with(&pair, 32);
    hold(&pair.guest, 1, 3);
    hub_link_leave(pair.guest.connection.link);
    assert_int_equal(received(&pair.host), 3);
    pair_close(&pair);
}

/* r[verify hub.ring.cork] r[verify hub.death.guard] */
static void a_guest_that_was_given_up_shows_nothing_more(void **state)
{
    struct pair pair;
    uint32_t head;

    (void)state;
    open_with(&pair, 32);
    hold(&pair.guest, 1, 3);
    head = hub_load_relaxed(&pair.guest.view.entry->guest_to_host_head);
    hub_add(&pair.host.view.entry->epoch, 1);
    hub_link_push(pair.guest.connection.link);
    assert_int_equal(hub_load_relaxed(&pair.guest.view.entry->guest_to_host_head), head);
    pair_close(&pair);
}

static void count_end(void *user, int code, struct hub_answer *answer)
{
    int *ends = user;

    (void)answer;
    assert_int_equal(code, RAPAHUB_EDIED);
    ++*ends;
}

/* r[verify hub.ring.cork] r[verify core.error.call-vs-connection] */
static void a_call_held_back_from_one_that_died_ends_once(void **state)
{
    int ends = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {"", 1}, .more = true},
                                  .deadline_ns = HUB_NEVER,
                                  .done = count_end,
                                  .user = &ends};
    struct hub_calls *calls;
    struct pair pair;
    uint64_t number;

    (void)state;
    open_with(&pair, 32);
    calls = pair.host.connection.calls;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
    hub_link_dead(pair.host.connection.link);
    hub_link_push(pair.host.connection.link);
    assert_int_equal(hub_call_ends_deliver(calls), 3);
    assert_int_equal(hub_call_ends_deliver(calls), 0);
    assert_int_equal(ends, 3);
    assert_int_equal(hub_calls_open(calls), 0);
    pair_close(&pair);
}

static void count_good(void *user, int code, struct hub_answer *answer)
{
    *(int *)user += code == 0 && answer->size == 2;
}

/* Answers, too: each call ends when its own is shown. r[verify hub.call.batch] */
static void answers_behind_which_more_follow_are_shown_together(void **state)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_parts held = {.more = true};
    uint8_t head = 0;
    int good = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {&head, 1}},
                                  .deadline_ns = HUB_NEVER,
                                  .done = count_good,
                                  .user = &good};
    struct hub_inbound_calls *served;
    struct pair pair;
    uint64_t number;

    (void)state;
    open_with(&pair, 32);
    served = pair.guest.connection.served;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hub_calls_begin(pair.host.connection.calls, &call, &number), 0);
    assert_int_equal(received(&pair.guest), 3);
    for (int i = 0; i < 3; i++) {
        assert_true(hub_inbound_calls_waits(served));
        assert_int_equal(hub_inbound_calls_answer_parts(
                             served, hub_inbound_calls_next(served, NULL, NULL), &ok, &held),
                         0);
    }
    assert_false(hub_inbound_calls_waits(served));
    assert_int_equal(received(&pair.host), 0);
    hub_link_push(pair.guest.connection.link);
    assert_int_equal(received(&pair.host), 3);
    assert_int_equal(hub_call_ends_deliver(pair.host.connection.calls), 3);
    assert_int_equal(good, 3);
    pair_close(&pair);
}

/* Before the byte is read: so a host need not ask the kernel. */
static void a_bell_that_was_rung_shows(void **state)
{
    const struct hub_link *link;
    struct pair pair;

    (void)state;
    open_with(&pair, 32);
    link = pair.host.connection.link;
    assert_int_equal(received(&pair.host), 0);
    assert_false(hub_link_was_rung(link));
    hold(&pair.guest, 1, 1);
    assert_false(hub_link_was_rung(link));
    hub_link_push(pair.guest.connection.link);
    assert_true(hub_link_was_rung(link));
    assert_int_equal(received(&pair.host), 1);
    assert_false(hub_link_was_rung(link));
    pair_close(&pair);
}

/* r[verify hub.call.once] */
static void nobody_wakes_for_the_deadline_of_a_call_that_has_ended(void **state)
{
    uint8_t head = 0;
    int good = 0;
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {&head, 1}},
                                  .deadline_ns = hub_clock_after(HUB_SECOND),
                                  .done = count_good,
                                  .user = &good};
    struct hub_calls *calls;
    struct pair pair;
    uint64_t number;

    (void)state;
    open_with(&pair, 32);
    calls = pair.host.connection.calls;
    assert_true(hub_call_ends_next(calls) == HUB_NEVER);
    assert_int_equal(hub_calls_begin(calls, &call, &number), 0);
    assert_true(hub_call_ends_next(calls) == call.deadline_ns);
    hub_link_dead(pair.host.connection.link);
    assert_true(hub_call_ends_next(calls) == 0);
    assert_int_equal(hub_call_ends_deliver(calls), 1);
    assert_true(hub_call_ends_next(calls) == HUB_NEVER);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_more_follows_is_seen_at_the_push_and_wakes_once),
        cmocka_unit_test(a_message_with_nothing_behind_it_shows_all),
        cmocka_unit_test(the_64th_shows_all),
        cmocka_unit_test(the_one_that_fills_the_ring_shows_all),
        cmocka_unit_test(one_that_finds_no_slot_shows_what_was_before_it),
        cmocka_unit_test(who_waits_shows_what_it_held_back),
        cmocka_unit_test(who_cannot_lead_shows_it_too),
        cmocka_unit_test(who_leaves_shows_what_it_held_back),
        cmocka_unit_test(a_guest_that_was_given_up_shows_nothing_more),
        cmocka_unit_test(a_call_held_back_from_one_that_died_ends_once),
        cmocka_unit_test(answers_behind_which_more_follow_are_shown_together),
        cmocka_unit_test(a_bell_that_was_rung_shows),
        cmocka_unit_test(nobody_wakes_for_the_deadline_of_a_call_that_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
