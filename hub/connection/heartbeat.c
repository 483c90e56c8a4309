/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/connection/heartbeat.h"

#include <errno.h>
#include <time.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/thread.h"
#include "hub/shm/peer_table.h"

/* hosts may set more; this bound keeps sums from wrapping */
#define INTERVAL_MOST (3600 * HUB_SECOND)

/* ---- is the loop healthy? ---- */

/* Both indices are in shared memory, so no lock of the link is needed. The loop publishes all that
 * it received before it sleeps. */
static bool has_unread(const struct hub_heartbeat *heartbeat)
{
    return hub_observe(&heartbeat->entry->host_to_guest_head) !=
           hub_load_relaxed(&heartbeat->entry->host_to_guest_tail);
}

/* A message that lay in the ring at the last check still does, and the loop made no step. */
static bool sleeps_over_messages(struct hub_heartbeat *heartbeat)
{
    bool before = heartbeat->unread;

    heartbeat->unread = has_unread(heartbeat);
    return before && heartbeat->unread;
}

/* The serving thread does not receive while a method runs, so this thread must look for the
 * Cancel. */
static bool is_waited_for(struct hub_heartbeat *heartbeat, uint64_t now)
{
    if (heartbeat->link)
        (void)hub_link_sweep(heartbeat->link, UINT32_MAX);
    if (!heartbeat->served ||
        !hub_inbound_calls_is_cancelled(heartbeat->served, hub_load_relaxed(&heartbeat->running))) {
        heartbeat->cancelled_ns = 0;
        return true;
    }
    if (heartbeat->cancelled_ns == 0)
        heartbeat->cancelled_ns = now;
    return now - heartbeat->cancelled_ns <= HUB_HEARTBEAT_PATIENCE * heartbeat->interval_ns;
}

static bool is_well(struct hub_heartbeat *heartbeat, uint64_t now)
{
    uint64_t pulse = hub_observe64(&heartbeat->pulse);
    bool moved = pulse != heartbeat->seen;

    heartbeat->seen = pulse;
    if (moved) {
        heartbeat->unread = false;
        heartbeat->cancelled_ns = 0;
        return true;
    }
    switch (pulse & HUB_HEARTBEAT_STAGES) {
    case HUB_HEARTBEAT_WAITS:
        return !sleeps_over_messages(heartbeat);
    case HUB_HEARTBEAT_RUNS:
        return is_waited_for(heartbeat, now);
    case HUB_HEARTBEAT_WORKS:
        return false;
    default:
        return true;
    }
}

/* A guest that said goodbye, or whose entry belongs to another process by now, writes nothing into
 * it. r[impl hub.death.guard] */
static bool is_ours(const struct hub_heartbeat *heartbeat)
{
    return hub_observe_pair(&heartbeat->entry->state) == hub_peer_table_attached(heartbeat->epoch);
}

/* ThreadSanitizer knows timed locks only with a deadline of the wall clock. */
static int lock_within(pthread_mutex_t *mutex, uint64_t span)
{
#ifdef __SANITIZE_THREAD__
    const struct timespec until = hub_clock_timespec(hub_clock_wall() + span);

    return -pthread_mutex_timedlock(mutex, &until);
#else
    const struct timespec until = hub_clock_timespec(hub_clock_after(span));

    return -pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
#endif
}

/* Waits for the next beat. Returns early with 0 if the serving thread releases its mutex to stop
 * this thread, and with -EOWNERDEAD if it has ended. */
static int rest(struct hub_heartbeat *heartbeat)
{
    return lock_within(&heartbeat->serving, heartbeat->interval_ns / 2);
}

/* r[impl supervise.thread] */
static void *beat(void *user)
{
    struct hub_heartbeat *heartbeat = user;
    int r;

    do {
        uint64_t now = hub_clock_now();

        if (is_well(heartbeat, now) && is_ours(heartbeat))
            hub_publish64(&heartbeat->entry->last_heartbeat, now);
        r = rest(heartbeat);
    } while (r == -ETIMEDOUT);
    if (r == -EOWNERDEAD && heartbeat->on_end)
        heartbeat->on_end(heartbeat->user);
    pthread_mutex_unlock(&heartbeat->serving);
    return NULL;
}

/* ---- start and stop ---- */

static void hold_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t robust;

    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &robust);
    pthread_mutexattr_destroy(&robust);
    pthread_mutex_lock(mutex);
}

static void drop_mutex(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    pthread_mutex_destroy(mutex);
}

/* The new thread blocks all signals: they belong to the serving thread. */
static int start_thread(struct hub_heartbeat *heartbeat)
{
    int r;

    hold_mutex(&heartbeat->serving);
    r = hub_thread_start(&heartbeat->thread, beat, heartbeat);
    if (r < 0) {
        drop_mutex(&heartbeat->serving);
        return rapahub_fail(r, "", "cannot start the heartbeat's thread");
    }
    heartbeat->runs = true;
    return 0;
}

int hub_heartbeat_start(struct hub_heartbeat *heartbeat, const struct hub_heartbeat_order *order)
{
    if (order->interval_ns == 0)
        return 0;
    heartbeat->entry = order->entry;
    heartbeat->epoch = order->epoch;
    heartbeat->link = order->link;
    heartbeat->served = order->served;
    heartbeat->interval_ns =
        order->interval_ns < INTERVAL_MOST ? order->interval_ns : INTERVAL_MOST;
    heartbeat->on_end = order->on_end;
    heartbeat->user = order->user;
    hub_store_relaxed64(&heartbeat->pulse, HUB_HEARTBEAT_EXCUSED);
    return start_thread(heartbeat);
}

void hub_heartbeat_stop(struct hub_heartbeat *heartbeat)
{
    if (!heartbeat->runs)
        return;
    pthread_mutex_unlock(&heartbeat->serving);
    pthread_join(heartbeat->thread, NULL);
    pthread_mutex_destroy(&heartbeat->serving);
    heartbeat->runs = false;
}
