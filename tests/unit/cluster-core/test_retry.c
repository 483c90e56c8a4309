/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/calls/retry.h"
#include "tests/support/testing.h"

#define POOL   UINT64_C(0x0000010000000000)
#define CLIENT (UINT64_C(1) << 63)
#define MS     UINT64_C(1000000)
#define FAR    (1000000 * MS)
#define MOST   100

static const struct cluster_limits small = {.retries = MOST, .retry_bytes = 10000};
static struct hub_random numbers;

static struct cluster_retry *open_retry(void)
{
    struct cluster_retry *retry;

    hub_random_init(&numbers, 1);
    assert_int_equal(cluster_retry_create(&small, &numbers, &retry), 0);
    return retry;
}

static struct cluster_retry_call call_of(uint32_t container, uint64_t number, uint64_t deadline_ns)
{
    return (struct cluster_retry_call){.flow = {POOL, CLIENT, container, 0},
                                       .number = number,
                                       .bytes = 1,
                                       .deadline_ns = deadline_ns};
}

static uint64_t add(struct cluster_retry *retry, uint32_t container, uint64_t number,
                    uint64_t deadline_ns)
{
    const struct cluster_retry_call call = call_of(container, number, deadline_ns);
    uint64_t id = 0;

    assert_int_equal(cluster_retry_add(retry, &call, 0, &id), 0);
    return id;
}

static struct cluster_retry_due take(struct cluster_retry *retry, uint64_t now_ns)
{
    struct cluster_retry_due due;

    assert_true(cluster_retry_take(retry, now_ns, &due));
    return due;
}

/* r[verify cluster.retry.flow] */
static void delays_double_to_a_bound_and_are_drawn_below_it(void **state)
{
    struct cluster_retry *retry = open_retry();
    uint64_t now = 0, bound = CLUSTER_RETRY_FIRST_NS, least = UINT64_MAX, most = 0;
    struct cluster_retry_due due;

    (void)state;
    (void)add(retry, 1, 7, UINT64_MAX);
    for (int i = 0; i < 200; i++) {
        uint64_t next = cluster_retry_next(retry);

        assert_true(next - now <= bound);
        if (bound == CLUSTER_RETRY_MOST_NS) {
            least = next - now < least ? next - now : least;
            most = next - now > most ? next - now : most;
        }
        if (next > 0)
            assert_false(cluster_retry_take(retry, next - 1, &due));
        due = take(retry, next);
        assert_int_equal(due.number, 7);
        assert_false(due.over);
        assert_false(cluster_retry_take(retry, FAR, &due));
        now = next;
        assert_true(cluster_retry_again(retry, due.id, now));
        bound = 2 * bound < CLUSTER_RETRY_MOST_NS ? 2 * bound : CLUSTER_RETRY_MOST_NS;
    }
    assert_true(least < CLUSTER_RETRY_MOST_NS / 10 && most > CLUSTER_RETRY_MOST_NS / 10 * 9);
    cluster_retry_release(&retry);
}

/* r[verify cluster.retry.flow] */
static void calls_of_a_flow_are_tried_one_after_another(void **state)
{
    struct cluster_retry *retry = open_retry();
    struct cluster_retry_due due, other;
    uint64_t now;

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        (void)add(retry, 1, i, UINT64_MAX);
    now = cluster_retry_next(retry);
    due = take(retry, now);
    assert_int_equal(due.number, 0);
    assert_false(cluster_retry_take(retry, FAR, &other));
    (void)add(retry, 2, 50, UINT64_MAX);
    assert_int_equal(take(retry, FAR).number, 50);
    for (uint64_t i = 1; i < 3; i++) {
        assert_true(cluster_retry_done(retry, due.id, now));
        assert_int_equal(cluster_retry_next(retry), now);
        due = take(retry, now);
        assert_int_equal(due.number, i);
    }
    assert_true(cluster_retry_again(retry, due.id, now));
    assert_int_equal(take(retry, now + CLUSTER_RETRY_FIRST_NS).number, 2);
    cluster_retry_release(&retry);
}

/* r[verify cluster.retry.once] */
static void a_call_ends_once_at_its_deadline(void **state)
{
    struct cluster_retry *retry = open_retry();
    uint64_t first, tried, third;
    struct cluster_retry_due due;

    (void)state;
    tried = add(retry, 1, 70, 20 * MS);
    first = add(retry, 1, 71, 15 * MS);
    third = add(retry, 1, 72, UINT64_MAX);
    assert_int_equal(take(retry, 10 * MS).id, tried);
    due = take(retry, 15 * MS);
    assert_true(due.over);
    assert_int_equal(due.id, first);
    assert_false(cluster_retry_done(retry, first, 15 * MS));
    due = take(retry, 20 * MS);
    assert_true(due.over);
    assert_int_equal(due.number, 70);
    assert_false(cluster_retry_again(retry, tried, 20 * MS));
    assert_false(cluster_retry_done(retry, tried, 20 * MS));
    due = take(retry, 20 * MS);
    assert_false(due.over);
    assert_int_equal(due.id, third);
    assert_true(cluster_retry_done(retry, third, 20 * MS));
    first = add(retry, 1, 73, UINT64_MAX);
    assert_false(cluster_retry_done(retry, third, 20 * MS));
    assert_false(cluster_retry_done(retry, tried, 20 * MS));
    assert_true(cluster_retry_done(retry, first, 20 * MS));
    assert_int_equal(cluster_retry_figures(retry).calls, 0);
    assert_int_equal(cluster_retry_figures(retry).flows, 0);
    assert_int_equal(cluster_retry_figures(retry).bytes, 0);
    assert_int_equal(cluster_retry_next(retry), CLUSTER_TIMERS_NEVER);
    cluster_retry_release(&retry);
}

/* r[verify cluster.retry.flow] */
static void a_change_makes_the_flows_of_its_container_due(void **state)
{
    struct cluster_retry *retry = open_retry();
    struct cluster_retry_due due;
    uint64_t now = 0;

    (void)state;
    for (uint32_t container = 1; container <= 2; container++)
        (void)add(retry, container, container, UINT64_MAX);
    for (int i = 0; i < 30 || cluster_retry_next(retry) < now + 50 * MS; i++) {
        now = cluster_retry_next(retry);
        due = take(retry, now);
        assert_true(cluster_retry_again(retry, due.id, now));
    }
    cluster_retry_hurry(retry, POOL, 3, now + 1);
    assert_false(cluster_retry_take(retry, now + 1, &due));
    cluster_retry_hurry(retry, POOL, 2, now + 1);
    assert_int_equal(take(retry, now + 1).number, 2);
    assert_false(cluster_retry_take(retry, now + 1, &due));
    cluster_retry_release(&retry);
}

/* r[verify cluster.retry.flow] r[verify cluster.peer.send] */
static void a_change_for_many_makes_all_flows_due(void **state)
{
    struct cluster_retry *retry = open_retry();
    struct cluster_retry_due due;

    (void)state;
    for (uint32_t container = 1; container <= 3; container++) {
        struct cluster_retry_call call = call_of(container, container, UINT64_MAX);
        uint64_t id;

        call.tries = 40;
        assert_int_equal(cluster_retry_add(retry, &call, 0, &id), 0);
    }
    assert_false(cluster_retry_take(retry, 0, &due));
    cluster_retry_hurry_all(retry, 1);
    for (int i = 0; i < 3; i++)
        (void)take(retry, 1);
    assert_false(cluster_retry_take(retry, 1, &due));
    cluster_retry_release(&retry);
}

/* The tries of before count, up to the bound. r[verify cluster.retry.flow] */
static void a_call_that_was_tried_before_waits_longer(void **state)
{
    uint64_t most = 0;

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        struct cluster_retry *retry = open_retry();
        struct cluster_retry_call call = call_of(1, 1, UINT64_MAX);
        uint64_t id, next;

        call.tries = i % 2 == 0 ? 5 : UINT32_MAX;
        assert_int_equal(cluster_retry_add(retry, &call, 0, &id), 0);
        next = cluster_retry_next(retry);
        assert_true(next <= (i % 2 == 0 ? 32 * CLUSTER_RETRY_FIRST_NS : CLUSTER_RETRY_MOST_NS));
        most = next > most ? next : most;
        cluster_retry_release(&retry);
    }
    assert_true(most > 8 * CLUSTER_RETRY_FIRST_NS);
}

/* r[verify cluster.retry.bounds] */
static void more_calls_or_bytes_than_may_wait_are_refused(void **state)
{
    struct cluster_retry *retry = open_retry();
    struct cluster_retry_call call = call_of(1, 1, UINT64_MAX);
    uint64_t id, first;

    (void)state;
    call.bytes = UINT64_MAX;
    assert_int_equal(cluster_retry_add(retry, &call, 0, &id), RAPAHUB_EBUSY);
    call.bytes = small.retry_bytes;
    assert_int_equal(cluster_retry_add(retry, &call, 0, &first), 0);
    call.bytes = 1;
    assert_int_equal(cluster_retry_add(retry, &call, 0, &id), RAPAHUB_EBUSY);
    assert_true(cluster_retry_done(retry, first, 0));
    for (uint32_t i = 0; i < MOST; i++)
        (void)add(retry, i, i, UINT64_MAX);
    assert_int_equal(cluster_retry_add(retry, &call, 0, &id), RAPAHUB_EBUSY);
    assert_int_equal(cluster_retry_figures(retry).calls, MOST);
    cluster_retry_release(&retry);
}

/* r[verify cluster.retry.once] r[verify cluster.retry.flow] */
static void each_call_leaves_once_and_in_its_order(void **state)
{
    struct cluster_retry *retry = open_retry();
    unsigned ends[2000] = {0};
    uint64_t last[4] = {0}, now = 0, added = 0, left = 0;
    struct cluster_retry_due due;

    (void)state;
    while (left < 2000) {
        while (added < 2000 && cluster_retry_figures(retry).calls < MOST / 2) {
            const struct cluster_retry_call call =
                call_of((uint32_t)(added % 4), added, now + hub_random_below(&numbers, 3000 * MS));
            uint64_t id;

            assert_int_equal(cluster_retry_add(retry, &call, now, &id), 0);
            added++;
        }
        now = cluster_retry_next(retry) > now ? cluster_retry_next(retry) : now;
        due = take(retry, now);
        if (due.over || hub_random_below(&numbers, 3) == 0) {
            assert_true(due.over || cluster_retry_done(retry, due.id, now));
            assert_true(due.over || due.number >= last[due.number % 4]);
            last[due.number % 4] = due.over ? last[due.number % 4] : due.number;
            assert_int_equal(ends[due.number]++, 0);
            left++;
        } else {
            assert_true(cluster_retry_again(retry, due.id, now));
        }
    }
    assert_int_equal(cluster_retry_figures(retry).calls, 0);
    cluster_retry_release(&retry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_double_to_a_bound_and_are_drawn_below_it),
        cmocka_unit_test(calls_of_a_flow_are_tried_one_after_another),
        cmocka_unit_test(a_call_ends_once_at_its_deadline),
        cmocka_unit_test(a_change_makes_the_flows_of_its_container_due),
        cmocka_unit_test(a_change_for_many_makes_all_flows_due),
        cmocka_unit_test(a_call_that_was_tried_before_waits_longer),
        cmocka_unit_test(more_calls_or_bytes_than_may_wait_are_refused),
        cmocka_unit_test(each_call_leaves_once_and_in_its_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
