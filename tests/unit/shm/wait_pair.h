/* SPDX-License-Identifier: Apache-2.0 */
/* wait_pair: both sides' wait words and doorbells in one process, and threads that wait. */
#ifndef TESTS_UNIT_SHM_WAIT_PAIR_H
#define TESTS_UNIT_SHM_WAIT_PAIR_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/wait.h"
#include "hub/shm/wait_for.h"
#include "tests/support/testing.h"

#define WAITING __attribute__((unused)) static

#define PATIENCE  (60 * HUB_SECOND)    /* no test waits so long */
#define OTHER_CPU UINT32_C(0xFFFF0000) /* in a word: one that there is not */
/* a thread that lost a wake-up sleeps until 1 s is over */
#define SLICE (900 * HUB_MILLISECOND)

/* A side, with the words of both and its end of the doorbell. */
struct pair {
    struct hub_a32 words[2];
    struct hub_wait side[2];
    int bells[2];
};

WAITING void begin_pair(struct pair *pair)
{
    *pair = (struct pair){0};
    assert_int_equal(hub_doorbell_create(&pair->bells[0], &pair->bells[1]), 0);
    for (int i = 0; i < 2; i++)
        hub_wait_init(&pair->side[i], &pair->words[i], &pair->words[!i], pair->bells[i], -1);
}

WAITING void end_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        if (pair->bells[i] >= 0)
            close(pair->bells[i]);
}

WAITING uint32_t bits_of(const struct pair *pair, int side)
{
    return hub_load_relaxed(&pair->words[side]) & 0xFFFF;
}

WAITING bool has_byte(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    return poll(&poller, 1, 0) == 1 && (poller.revents & POLLIN);
}

/* The resource that a waiter checks. */
struct thing {
    struct hub_a32 there;
    struct hub_a32 hang_ups;
    bool hang_up_makes_ready;
};

WAITING bool is_there(void *user)
{
    return hub_observe(&((struct thing *)user)->there) != 0;
}

WAITING void count_hang_up(void *user)
{
    struct thing *thing = user;

    hub_add(&thing->hang_ups, 1);
    if (thing->hang_up_makes_ready)
        hub_publish(&thing->there, 1);
}

WAITING struct hub_wait_order order_for(struct thing *thing, uint32_t bits, uint64_t span_ns)
{
    return (struct hub_wait_order){.bits = bits,
                                   .last = HUB_WAIT_SLEEP,
                                   .deadline_ns = hub_clock_after(span_ns),
                                   .ready = is_there,
                                   .hung_up = count_hang_up,
                                   .user = thing};
}

/* Another thread that waits. */
struct sleeper {
    struct hub_wait *wait;
    struct hub_wait_order order;
    pthread_t thread;
    int result;
};

WAITING void *sleep_for_order(void *user)
{
    struct sleeper *sleeper = user;

    sleeper->result = hub_wait_for(sleeper->wait, &sleeper->order);
    return NULL;
}

WAITING void start_sleeper(struct sleeper *sleeper)
{
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_for_order, sleeper), 0);
}

WAITING void join_sleeper(struct sleeper *sleeper)
{
    assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
    assert_int_equal(sleeper->result, 0);
}

/* Waits for any of the bits: a thread late for the short futex stage meets the next one. */
WAITING void until_armed(const struct hub_a32 *word, uint32_t bits)
{
    while (!(hub_observe(word) & bits))
        sched_yield();
}

#endif
