/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/wait_for.h"

#include <sched.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/shm/wait_ends.h"
#include "hub/shm/wait_foreign.h"

#define SPIN_LEAST  HUB_MICROSECOND
#define SPIN_RETRY  32 /* each 32nd wait tries the full budget */
#define LOOKS       16 /* checks between two readings of the clock */
#define YIELDS      4
#define FUTEX_STAGE (10 * HUB_MILLISECOND)  /* short: a timer costs more than all the rest */
#define BLIND_STAGE (500 * HUB_MICROSECOND) /* if the peer's death shows in no futex */
#define FUTEX_SLICE (100 * HUB_MILLISECOND)
#define BELL_SLICE  HUB_SECOND
#define IDLE_SLICE  (10 * HUB_SECOND)
/* for a wait that never sleeps, between two checks for the peer's death */
#define POLL_SLICE HUB_MILLISECOND
#define FUTEX_BITS (HUB_WAIT_RX_FUTEX | HUB_WAIT_TX_FUTEX)
#define BELL_BITS  (HUB_WAIT_RX_BELL | HUB_WAIT_TX_BELL)

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool on_same_cpu(const struct hub_wait *wait)
{
    return hub_wait_is_same_cpu(wait, hub_load_relaxed(wait->peer));
}

static bool yield_until_ready(const struct hub_wait_order *order)
{
    for (int i = 0; i < YIELDS; i++) {
        (void)sched_yield();
        if (order->ready(order->user))
            return true;
    }
    return false;
}

/* The peer sleeps nowhere: it works, or looks again and again as well. */
static bool is_peer_awake(const struct hub_wait *wait)
{
    return (hub_load_relaxed(wait->peer) & (FUTEX_BITS | BELL_BITS)) == 0;
}

static uint64_t take_budget(struct hub_wait *wait, const struct hub_wait_order *order)
{
    uint32_t turn = hub_load_relaxed(&wait->turns) + 1;

    hub_store_relaxed(&wait->turns, turn);
    if (order->eager && is_peer_awake(wait))
        return HUB_WAIT_SPIN_FULL;
    return turn % SPIN_RETRY == 0 ? HUB_WAIT_SPIN_FULL : hub_load_relaxed64(&wait->spin_ns);
}

static void settle_budget(struct hub_wait *wait, bool success)
{
    uint64_t next = success ? HUB_WAIT_SPIN_FULL : hub_load_relaxed64(&wait->spin_ns) / 2;

    hub_store_relaxed64(&wait->spin_ns, next < SPIN_LEAST ? 0 : next);
}

/* A gap before each check leaves the cache line to the peer that writes it. */
static bool look_often(const struct hub_wait *wait, const struct hub_wait_order *order)
{
    for (int i = 0; i < LOOKS; i++) {
        hub_wait_gap(wait);
        if (order->ready(order->user))
            return true;
    }
    return false;
}

/* Waits half a gap between checks, because a near peer is noticed earlier and there is nothing else
 * to check. If spinning was in vain recently, one check is enough. A success of the first check
 * says nothing about spinning: the word may have changed earlier, as by the event that woke this
 * side. After checks in vain it is judged again whether they pay. The function is never inlined, so
 * that a profile separates it from its caller. */
__attribute__((noinline)) bool hub_wait_for_word(struct hub_wait *wait, const struct hub_a32 *word,
                                                 uint32_t seen, const void *cell)
{
    int looks = hub_load_relaxed64(&wait->spin_ns) != 0 ? 2 * LOOKS : 1;

    for (int i = 0; i < looks; i++) {
        for (uint32_t n = 0; n < (wait->gap + 1) / 2; n++)
            hub_pause();
        __builtin_prefetch(cell); /* two changed lines are fetched at the same time */
        if (hub_observe(word) == seen)
            continue;
        if (i > 0)
            hub_store_relaxed64(&wait->spin_ns, HUB_WAIT_SPIN_FULL);
        return true;
    }
    hub_store_relaxed64(&wait->near, HUB_WAIT_UNJUDGED);
    return false;
}

static bool spin_for(const struct hub_wait *wait, const struct hub_wait_order *order, uint64_t ns)
{
    uint64_t until = least_of(hub_clock_after(ns), order->deadline_ns);
    bool ready = false;

    while (!ready && hub_clock_left(until) != 0)
        ready = look_often(wait, order);
    return ready;
}

/* Stops when the peer sleeps: it gives nothing soon. */
static bool spin_while_awake(const struct hub_wait *wait, const struct hub_wait_order *order)
{
    uint64_t until = least_of(hub_clock_after(HUB_WAIT_FOR_STREAM), order->deadline_ns);
    bool ready = false;

    while (!ready && is_peer_awake(wait) && hub_clock_left(until) != 0)
        ready = look_often(wait, order);
    return ready;
}

/* The clock is read only after the first checks were in vain; their time counts as spent. */
static bool spin_until_ready(struct hub_wait *wait, const struct hub_wait_order *order,
                             uint64_t budget)
{
    bool ready = look_often(wait, order);

    if (!ready && budget > HUB_WAIT_GAP * LOOKS)
        ready = spin_for(wait, order, budget - HUB_WAIT_GAP * LOOKS);
    if (!ready && order->eager)
        ready = spin_while_awake(wait, order);
    settle_budget(wait, ready);
    return ready;
}

/* Steps 1 and 2 of the ladder: stays awake. */
static bool stay_awake(struct hub_wait *wait, const struct hub_wait_order *order)
{
    uint64_t budget;

    hub_wait_show_cpu(wait);
    if (wait->manner == HUB_WAIT_MANNER_SLEEP || wait->manner == HUB_WAIT_MANNER_BELL)
        return false;
    if (on_same_cpu(wait))
        return yield_until_ready(order);
    budget = take_budget(wait, order);
    if (budget == 0)
        return false;
    return spin_until_ready(wait, order, budget) || yield_until_ready(order);
}

/* Step 3: sleeps in the futex until `until`, and returns early whenever there is a reason to check.
 * A peer that keeps changing our word keeps this side awake no longer than that. */
static void sleep_in_futex(struct hub_wait *wait, const struct hub_wait_order *order,
                           uint64_t until)
{
    uint32_t bits = order->bits & FUTEX_BITS, word;

    if (!hub_wait_is_ours(wait))
        return; /* `ready` notices it */
    word = hub_arm(wait->own, bits) | bits;
    hub_fence(wait->own);
    if (!order->ready(order->user))
        (void)hub_futex_wait(wait->own, word, order->bits, until);
    if (hub_wait_is_ours(wait))
        (void)hub_clear_bits(wait->own, bits);
}

/* A byte that this side owes is tried again soon, which the doorbell stage does. */
static uint64_t futex_stage(const struct hub_wait *wait)
{
    return wait->watched && !hub_load_relaxed(&wait->bell_owed) ? FUTEX_STAGE : BLIND_STAGE;
}

static void sleep_once(struct hub_wait_ends *ends, uint64_t now)
{
    const struct hub_wait_order *order = ends->order;
    uint64_t spent = now - ends->start_ns, left = order->deadline_ns - now, stage;

    hub_wait_pay(ends->wait);
    stage = order->idle ? 0 : futex_stage(ends->wait);
    ends->deaf = hub_flood_until(&ends->wait->flood) > now;
    if (ends->deaf) {
        hub_wait_ends_sleep(ends, least_of(left, HUB_FLOOD_LOOK));
    } else if (!hub_wait_takes_part(ends->wait)) {
        hub_wait_foreign_sleep(ends, now, left);
        hub_wait_ends_look(ends);
    } else if (spent < stage && ends->wait->manner != HUB_WAIT_MANNER_BELL) {
        sleep_in_futex(ends->wait, order, now + least_of(left, stage - spent));
    } else if (hub_wait_ends_by_bell(ends) ||
               (hub_wait_ends_by_pidfd(ends) && ends->wait->doorbell >= 0)) {
        hub_wait_ends_sleep(ends, least_of(left, order->idle ? IDLE_SLICE : BELL_SLICE));
    } else {
        sleep_in_futex(ends->wait, order, now + least_of(left, FUTEX_SLICE));
        hub_wait_ends_look(ends);
    }
}

static int sleep_until_ready(struct hub_wait *wait, const struct hub_wait_order *order)
{
    struct hub_wait_ends ends = {.wait = wait, .order = order, .start_ns = hub_clock_now()};
    uint64_t now = ends.start_ns;

    while (now < order->deadline_ns) {
        sleep_once(&ends, now);
        if (order->ready(order->user))
            return 0;
        now = hub_clock_now();
    }
    return RAPAHUB_ETIMEDOUT;
}

/* A side that shares the CPU with its peer yields it; otherwise nothing could arrive. */
static bool look_for_a_slice(struct hub_wait *wait, const struct hub_wait_order *order)
{
    uint64_t until = least_of(hub_clock_after(POLL_SLICE), order->deadline_ns);
    bool same = on_same_cpu(wait), ready;

    do
        ready = same ? yield_until_ready(order) : look_often(wait, order);
    while (!ready && hub_clock_left(until) != 0);
    return ready;
}

/* No bit is armed, so the peer makes no system call. The peer's death is checked for after each
 * slice. r[impl hub.wait.manner] */
static int poll_until_ready(struct hub_wait *wait, const struct hub_wait_order *order)
{
    struct hub_wait_ends ends = {.wait = wait, .order = order};
    bool ready = look_often(wait, order); /* an immediate answer costs no reading of the clock */

    while (!ready && hub_clock_left(order->deadline_ns) != 0) {
        hub_wait_show_cpu(wait);
        ready = look_for_a_slice(wait, order);
        if (!ready && order->last == HUB_WAIT_SPIN)
            return RAPAHUB_EAGAIN;
        if (ready)
            break;
        if (order->rest)
            order->rest(order->user);
        hub_wait_pay(wait);
        hub_wait_ends_poll(&ends, 0);
        hub_wait_ends_see_parent(&ends);
        hub_wait_ends_look(&ends);
        ready = order->ready(order->user);
    }
    return ready ? 0 : RAPAHUB_ETIMEDOUT;
}

/* Not inlined either, like hub_wait_for_word: its time in a profile is waiting, not work. */
__attribute__((noinline)) int hub_wait_for(struct hub_wait *wait,
                                           const struct hub_wait_order *order)
{
    if (wait->manner == HUB_WAIT_MANNER_POLL)
        return order->ready(order->user) ? 0 : poll_until_ready(wait, order);
    if (order->ready(order->user) || (!order->idle && stay_awake(wait, order)))
        return 0;
    if (order->last == HUB_WAIT_SPIN)
        return RAPAHUB_EAGAIN;
    if (order->rest)
        order->rest(order->user);
    return sleep_until_ready(wait, order);
}
