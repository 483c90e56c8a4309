/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/futex.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/flood.h"
#include "hub/shm/wait.h"
#include "hub/shm/wait_for.h"
#include "tests/support/testing.h"

#define START HUB_SECOND
#define WAKES 250

/* Rings `count` times within `span_ns`: whether it was a flood. */
static bool ring(struct hub_flood *flood, uint64_t *now, int count, uint64_t span_ns)
{
    uint64_t before = hub_load_relaxed64(&flood->count);

    for (int i = 0; i < count; i++) {
        *now += span_ns / (uint64_t)count;
        hub_flood_note(flood, *now, 0);
    }
    return hub_load_relaxed64(&flood->count) > before;
}

static uint64_t deaf_for(const struct hub_flood *flood, uint64_t now)
{
    uint64_t until = hub_flood_until(flood);

    return until > now ? until - now : 0;
}

/* r[verify hub.wait.flood] */
static void a_quarter_of_a_thousand_bells_in_100_ms_is_a_flood(void **state)
{
    struct hub_flood flood = {0};
    uint64_t now = START;

    (void)state;
    assert_false(ring(&flood, &now, WAKES - 1, 50 * HUB_MILLISECOND));
    assert_int_equal(deaf_for(&flood, now), 0);
    assert_true(ring(&flood, &now, 1, 0));
    assert_int_equal(deaf_for(&flood, now), 10 * HUB_MILLISECOND);
}

static void as_many_bells_in_a_longer_time_are_none(void **state)
{
    struct hub_flood flood = {0};
    uint64_t now = START;

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_false(ring(&flood, &now, WAKES, 120 * HUB_MILLISECOND));
    assert_int_equal(hub_flood_until(&flood), 0);
}

/* A peer that takes no part rings for each of them: head, tail, slot, credit. */
static void bells_that_messages_explain_are_none(void **state)
{
    struct hub_flood flood = {0};
    uint64_t now = START;

    (void)state;
    for (uint64_t i = 0; i < 100 * WAKES; i++)
        hub_flood_note(&flood, now += 100, i / 4);
    assert_int_equal(hub_load_relaxed64(&flood.count), 0);
}

static void messages_explain_no_more_bells_than_they_may_cause(void **state)
{
    struct hub_flood flood = {0};
    uint64_t now = START;

    (void)state;
    for (uint64_t i = 0; i < 100 * WAKES; i++)
        hub_flood_note(&flood, now += 100, i / 8);
    assert_in_range(hub_load_relaxed64(&flood.count), 1, WAKES);
}

static void who_floods_again_is_not_heard_for_twice_as_long_up_to_100_ms(void **state)
{
    static const uint64_t spans[] = {10, 20, 40, 80, 100, 100};
    struct hub_flood flood = {0};
    uint64_t now = START;

    (void)state;
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        assert_true(ring(&flood, &now, WAKES, HUB_MILLISECOND));
        assert_int_equal(deaf_for(&flood, now), spans[i] * HUB_MILLISECOND);
        now = hub_flood_until(&flood);
    }
    now += 2 * HUB_SECOND;
    assert_true(ring(&flood, &now, WAKES, HUB_MILLISECOND));
    assert_int_equal(deaf_for(&flood, now), 10 * HUB_MILLISECOND);
}

static void bells_while_nobody_listens_do_not_count(void **state)
{
    struct hub_flood flood = {0};
    uint64_t now = START;

    (void)state;
    assert_true(ring(&flood, &now, WAKES, HUB_MILLISECOND));
    assert_false(ring(&flood, &now, 5 * WAKES, 5 * HUB_MILLISECOND));
    now = hub_flood_until(&flood);
    assert_false(ring(&flood, &now, WAKES - 1, HUB_MILLISECOND));
}

/* A side that waits for a peer who rings as fast as it can. */
struct flooded {
    struct hub_a32 words[2];
    struct hub_wait wait;
    int own, peer;
    struct hub_a32 stop, there;
    uint64_t there_ns; /* when it came; after `there` */
};

static void *ring_on(void *user)
{
    struct flooded *flooded = user;

    while (hub_observe(&flooded->stop) == 0)
        (void)hub_doorbell_ring(flooded->peer);
    return NULL;
}

static bool is_there(void *user)
{
    return hub_observe(&((struct flooded *)user)->there) != 0;
}

static void ignore(void *user)
{
    (void)user;
}

static int wait_for(struct flooded *flooded, uint64_t span_ns)
{
    const struct hub_wait_order order = {.bits = HUB_WAIT_RX,
                                         .last = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(span_ns),
                                         .ready = is_there,
                                         .hung_up = ignore,
                                         .user = flooded};

    return hub_wait_for(&flooded->wait, &order);
}

static void begin_flood(struct flooded *flooded)
{
    *flooded = (struct flooded){0};
    assert_int_equal(hub_doorbell_create(&flooded->own, &flooded->peer), 0);
    hub_wait_init(&flooded->wait, &flooded->words[0], &flooded->words[1], flooded->own, -1);
    hub_store_relaxed(&flooded->words[1], HUB_WAIT_PART);
}

static void end_flood(struct flooded *flooded)
{
    close(flooded->own);
    close(flooded->peer);
}

static bool has_byte(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    return poll(&poller, 1, 0) == 1 && (poller.revents & POLLIN);
}

/* r[verify hub.wait.flood] */
static void a_doorbell_that_floods_is_not_read_for_a_while(void **state)
{
    struct flooded flooded;
    uint64_t now = hub_clock_now();
    int r;

    (void)state;
    begin_flood(&flooded);
    ring(&flooded.wait.flood, &now, WAKES, 0);
    assert_int_equal(hub_doorbell_ring(flooded.peer), HUB_BELL_RUNG);
    r = wait_for(&flooded, HUB_MILLISECOND);
    assert_true(r == RAPAHUB_ETIMEDOUT);
    assert_true(has_byte(flooded.own) || hub_clock_now() > hub_flood_until(&flooded.wait.flood));
    while (has_byte(flooded.own))
        assert_int_equal(wait_for(&flooded, 10 * HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
    assert_true(hub_clock_now() > hub_flood_until(&flooded.wait.flood));
    end_flood(&flooded);
}

static void *publish_soon(void *user)
{
    struct flooded *flooded = user;
    struct hub_a32 nothing = {0};

    hub_futex_wait_private(&nothing, 0, hub_clock_after(20 * HUB_MILLISECOND));
    flooded->there_ns = hub_clock_now();
    hub_publish(&flooded->there, 1);
    return NULL;
}

static void what_comes_during_a_flood_is_seen_soon(void **state)
{
    struct flooded flooded;
    pthread_t thread, publisher;

    (void)state;
    begin_flood(&flooded);
    assert_int_equal(pthread_create(&thread, NULL, ring_on, &flooded), 0);
    while (hub_load_relaxed64(&flooded.wait.flood.count) < 4)
        assert_true(wait_for(&flooded, 50 * HUB_MILLISECOND) < 0);
    assert_int_equal(pthread_create(&publisher, NULL, publish_soon, &flooded), 0);
    assert_int_equal(wait_for(&flooded, 10 * HUB_SECOND), 0);
    assert_true(hub_clock_now() - flooded.there_ns < 500 * HUB_MILLISECOND);
    assert_int_equal(pthread_join(publisher, NULL), 0);
    hub_publish(&flooded.stop, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_flood(&flooded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_a_thousand_bells_in_100_ms_is_a_flood),
        cmocka_unit_test(as_many_bells_in_a_longer_time_are_none),
        cmocka_unit_test(bells_that_messages_explain_are_none),
        cmocka_unit_test(messages_explain_no_more_bells_than_they_may_cause),
        cmocka_unit_test(who_floods_again_is_not_heard_for_twice_as_long_up_to_100_ms),
        cmocka_unit_test(bells_while_nobody_listens_do_not_count),
        cmocka_unit_test(a_doorbell_that_floods_is_not_read_for_a_while),
        cmocka_unit_test(what_comes_during_a_flood_is_seen_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
