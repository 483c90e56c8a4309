/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that hears for the owner what guests wake that ring no doorbell. */
#include "host/owner/futexes.h"
#include "tests/support/pause.h"
#include "tests/unit/link/pair.h"

#define CLOSES   20
#define MESSAGES 100

static __thread bool is_owner;
static bool is_slow; /* the thread, between its look at the end and what it sleeps on */

uint64_t __real_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void)
{
    if (is_slow && !is_owner)
        pause_ms(5);
    return __real_hub_clock_now();
}

/* The guest takes its host for one of another make: it wakes the head with each message. */
struct heard {
    struct pair pair;
    struct host_futexes futexes;
    struct host_futex futex;
};

static void begin(struct heard *heard)
{
    const struct hub_limits limits = pair_limits();

    memset(heard, 0, sizeof *heard);
    pair_open(&heard->pair, &limits, 0);
    hub_store_relaxed(&heard->pair.host.view.entry->host_wait, 0);
    host_futexes_init(&heard->futexes);
    heard->futex.link = heard->pair.host.connection.link;
}

static void end(struct heard *heard)
{
    host_futexes_forget(&heard->futexes, &heard->futex);
    host_futexes_close(&heard->futexes);
    pair_close(&heard->pair);
}

static void send_one(struct heard *heard)
{
    const struct hub_message message = {HUB_REQUEST, 1, 99};
    const struct hub_parts nothing = {.loan = NULL};

    assert_int_equal(hub_link_send(heard->pair.guest.connection.link, &message, &nothing, 0), 0);
}

static void until_pending(struct heard *heard)
{
    uint64_t deadline = hub_clock_after(SOON);

    while (hub_observe(&heard->pair.host.pending) == 0 && hub_clock_left(deadline) != 0)
        sched_yield();
    assert_true(hub_observe(&heard->pair.host.pending) != 0);
}

static void take_all(struct heard *heard)
{
    hub_publish(&heard->pair.host.pending, 0);
    assert_true(hub_link_sweep(heard->pair.host.connection.link, 8) >= 0);
}

/* r[verify shm.wakeup.consumer-wait] */
static void each_message_is_told_to_the_loop(void **state)
{
    struct heard heard;

    (void)state;
    begin(&heard);
    assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
    for (int i = 0; i < MESSAGES; i++) {
        const struct hub_message cancel = {HUB_CANCEL, 1, 0};
        const struct hub_parts nothing = {.loan = NULL};

        assert_int_equal(hub_link_send(heard.pair.guest.connection.link, &cancel, &nothing, 0), 0);
        until_pending(&heard);
        take_all(&heard);
    }
    end(&heard);
}

static void what_came_before_is_told_too(void **state)
{
    struct heard heard;

    (void)state;
    begin(&heard);
    send_one(&heard);
    assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
    until_pending(&heard);
    end(&heard);
}

static void behind_forget_nothing_is_told(void **state)
{
    struct heard heard;

    (void)state;
    begin(&heard);
    assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
    host_futexes_forget(&heard.futexes, &heard.futex);
    send_one(&heard);
    pause_ms(20);
    assert_int_equal(hub_observe(&heard.pair.host.pending), 0);
    assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
    until_pending(&heard);
    end(&heard);
}

/* r[verify hub.wait.flood] */
static void who_wakes_for_nothing_again_and_again_is_left_alone(void **state)
{
    uint64_t deadline = hub_clock_after(SOON);
    struct hub_a32 *head;
    struct heard heard;

    (void)state;
    begin(&heard);
    head = &heard.pair.guest.view.entry->guest_to_host_head;
    assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
    while (hub_load_relaxed64(&heard.futex.flood.count) == 0 && hub_clock_left(deadline) != 0)
        hub_futex_wake(head, UINT32_MAX);
    assert_true(hub_load_relaxed64(&heard.futex.flood.count) != 0);
    send_one(&heard);
    until_pending(&heard); /* when that time is over */
    end(&heard);
}

static void there_are_so_many_places(void **state)
{
    static struct host_futex more[HOST_FUTEXES_MAX];
    struct heard heard;

    (void)state;
    begin(&heard);
    for (int i = 0; i < HOST_FUTEXES_MAX; i++) {
        more[i] = (struct host_futex){.link = heard.futex.link};
        assert_true(host_futexes_watch(&heard.futexes, &more[i]));
    }
    assert_false(host_futexes_watch(&heard.futexes, &heard.futex));
    host_futexes_forget(&heard.futexes, &more[0]);
    assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
    send_one(&heard);
    until_pending(&heard);
    for (int i = 1; i < HOST_FUTEXES_MAX; i++)
        host_futexes_forget(&heard.futexes, &more[i]);
    end(&heard);
}

/* Whenever its end comes, the thread sees it before it sleeps or is woken by it. */
static void it_closes_at_any_moment(void **state)
{
    struct heard heard;

    (void)state;
    is_owner = is_slow = true;
    begin(&heard);
    for (int i = 0; i < CLOSES; i++) {
        assert_true(host_futexes_watch(&heard.futexes, &heard.futex));
        host_futexes_forget(&heard.futexes, &heard.futex);
        pause_ms(i % 8);
        host_futexes_close(&heard.futexes);
        host_futexes_init(&heard.futexes);
    }
    is_slow = false;
    end(&heard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_is_told_to_the_loop),
        cmocka_unit_test(what_came_before_is_told_too),
        cmocka_unit_test(behind_forget_nothing_is_told),
        cmocka_unit_test(who_wakes_for_nothing_again_and_again_is_left_alone),
        cmocka_unit_test(there_are_so_many_places),
        cmocka_unit_test(it_closes_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
