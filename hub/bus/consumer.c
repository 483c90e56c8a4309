/* SPDX-License-Identifier: Apache-2.0 */
/* consumer: the public handle: role, wait, take back what a dead producer left, try again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/region.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/bus/blocker.h"
#include "hub/bus/bus_wait.h"
#include "hub/bus/reap.h"
#include "hub/bus/resume.h"
#include "hub/bus/role.h"
#include "hub/bus/spsc.h"
#include "hub/bus/watcher.h"

#define EMPTY_LOOKS 64 /* pops without a wait that find nothing before the claims are looked at */

struct rapahub_consumer {
    struct hub_ring_view view;
    struct hub_role role;
    struct hub_role_counterpart producer;
    uint64_t head;
    uint64_t skipped;  /* poisoned positions since the last message */
    uint32_t unstored; /* pops since the head was stored */
    uint32_t empty;
    size_t shown; /* by peek, and not done yet */
    bool many;    /* the region is MPSC */
    bool spins;
    struct hub_watcher *watcher;
    struct rapahub_region_blocker blocker;
};

static int begin(struct rapahub_consumer *consumer, struct rapahub_region *region)
{
    int r;

    consumer->view = region->view;
    consumer->many = region->shape.kind == HUB_REGION_MPSC;
    consumer->spins = true;
    consumer->producer = (struct hub_role_counterpart){region, HUB_LEASE_PRODUCER, false};
    r = hub_role_take(region, HUB_LEASE_CONSUMER, &consumer->role);
    if (r < 0)
        return r;
    r = hub_resume_head(&consumer->view, &consumer->head);
    if (r < 0)
        hub_role_drop(&consumer->role);
    return r;
}

static bool is_zero(const struct rapahub_consumer_options *options)
{
    uint64_t reserved = 0;

    for (size_t i = 0; options && i < sizeof options->reserved / sizeof *options->reserved; i++)
        reserved |= options->reserved[i];
    return reserved == 0;
}

int rapahub_consumer_open(struct rapahub_region *region,
                          const struct rapahub_consumer_options *options,
                          struct rapahub_consumer **out)
{
    struct rapahub_consumer *consumer;
    int r;

    if (!is_zero(options))
        return rapahub_fail(RAPAHUB_EINVAL, "", "reserved options of a consumer must be 0");
    consumer = calloc(1, sizeof *consumer);
    if (!consumer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a consumer");
    r = begin(consumer, region);
    if (r < 0) {
        free(consumer);
        return r;
    }
    *out = consumer;
    return 0;
}

static void store_head(struct rapahub_consumer *consumer)
{
    if (consumer->unstored > 0)
        hub_store_relaxed64(&consumer->view.ring->head, consumer->head);
    consumer->unstored = 0;
}

/* Frees the cell at the head. */
static void take_out(struct rapahub_consumer *consumer)
{
    hub_spsc_free(&consumer->view, consumer->head);
    consumer->head++;
    if (++consumer->unstored >= consumer->view.head_batch)
        store_head(consumer);
    hub_sleep_wake(&consumer->view.not_full);
}

/* Shows the message `ahead` of the head. RAPAHUB_EEMPTY, without a diagnosis; RAPAHUB_ECORRUPT. */
static int show(struct rapahub_consumer *consumer, uint64_t ahead, struct rapahub_message *out)
{
    for (;;) {
        switch (hub_spsc_look(&consumer->view, consumer->head + ahead, out)) {
        case HUB_SPSC_MESSAGE:
            return 0;
        case HUB_SPSC_EMPTY:
            return RAPAHUB_EEMPTY;
        case HUB_SPSC_POISONED:
            if (ahead > 0)
                return RAPAHUB_EEMPTY;
            consumer->skipped++;
            take_out(consumer);
            break;
        default:
            return RAPAHUB_ECORRUPT;
        }
    }
}

static bool has_message(const void *user)
{
    const struct rapahub_consumer *consumer = user;

    return !hub_spsc_is_empty(&consumer->view, consumer->head);
}

/* The position at the head is claimed: its producer is slow, stopped or dead. Only the dead are
 * repaired. */
static bool is_claimed(const struct rapahub_consumer *consumer)
{
    return consumer->many && hub_observe64(&consumer->view.ring->tail) > consumer->head;
}

static int look_at_producers(void *user)
{
    struct rapahub_consumer *consumer = user;

    if (is_claimed(consumer)) {
        if (hub_blocker_is_dead(consumer->role.region, consumer->head))
            (void)hub_reap_try(consumer->role.region);
        return 0;
    }
    return hub_role_counterpart_died(&consumer->producer)
               ? rapahub_fail(RAPAHUB_EPEERDEAD, "region.peer.dead",
                              "the region is empty, and its producer is dead")
               : 0;
}

static int refuse_blocked(struct rapahub_consumer *consumer)
{
    const struct rapahub_region_blocker *blocker = &consumer->blocker;

    hub_blocker_find(consumer->role.region, consumer->head, &consumer->blocker);
    if (!blocker->known)
        return rapahub_fail(RAPAHUB_EBLOCKED, "region.blocked",
                            "position %" PRIu64 " is claimed and not published, and the region has "
                            "no lease that says by which process",
                            consumer->head);
    return rapahub_fail(RAPAHUB_EBLOCKED, "region.blocked",
                        "lease %" PRIu32 " (%s, pid %" PRId32 ") at position %" PRIu64
                        " for %" PRIu64 " ms: continue or kill it",
                        blocker->lease, blocker->name, blocker->pid, blocker->position,
                        (hub_clock_now() - blocker->since_ns) / HUB_MILLISECOND);
}

static int wait_for_message(struct rapahub_consumer *consumer, uint64_t deadline_ns)
{
    const struct hub_bus_wait wait = {.region = consumer->role.region,
                                      .sleep = &consumer->view.not_empty,
                                      .ready = has_message,
                                      .look = look_at_producers,
                                      .user = consumer,
                                      .spins = &consumer->spins};
    int r = hub_bus_wait_until(&wait, deadline_ns);

    return r == RAPAHUB_ETIMEDOUT && is_claimed(consumer) ? refuse_blocked(consumer) : r;
}

/* A consumer that never waits still takes back what a dead producer left: now and then, or where
 * its descriptor may have told it of that. */
static int find_nothing(struct rapahub_consumer *consumer)
{
    store_head(consumer);
    if ((consumer->watcher || ++consumer->empty % EMPTY_LOOKS == 0) && is_claimed(consumer))
        (void)look_at_producers(consumer);
    if (consumer->watcher)
        hub_watcher_arm(consumer->watcher, consumer->head);
    return RAPAHUB_EEMPTY;
}

/* The first message, waiting for it. */
static int next(struct rapahub_consumer *consumer, uint64_t timeout_ns, struct rapahub_message *out)
{
    uint64_t deadline = timeout_ns ? hub_clock_after(timeout_ns) : 0;
    int r;

    while ((r = show(consumer, 0, out)) == RAPAHUB_EEMPTY) {
        r = find_nothing(consumer);
        if (timeout_ns == 0 && !has_message(consumer))
            return r;
        r = timeout_ns == 0 ? 0 : wait_for_message(consumer, deadline);
        if (r < 0)
            return r;
    }
    return r;
}

int rapahub_consumer_pop(struct rapahub_consumer *consumer, void *to, size_t size,
                         uint64_t timeout_ns, struct rapahub_message *out)
{
    struct rapahub_message message = {0};
    int r = next(consumer, timeout_ns, &message);

    if (r < 0)
        return r;
    message.skipped = consumer->skipped;
    if (out)
        *out = message;
    if (message.size > size)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "region.cell",
                            "the message has %zu bytes, and there is room for %zu", message.size,
                            size);
    if (message.size > 0)
        hub_atomic_copy_bytes(to, message.data, message.size);
    if (out)
        out->data = to;
    consumer->skipped = 0;
    consumer->shown = 0;
    take_out(consumer);
    return 0;
}

int rapahub_consumer_peek(struct rapahub_consumer *consumer, struct rapahub_message *list,
                          size_t max, uint64_t timeout_ns, size_t *out)
{
    size_t count = 0;
    int r = max == 0 ? 0 : next(consumer, timeout_ns, &list[0]);

    *out = 0;
    if (r < 0)
        return r;
    if (max > 0) {
        list[0].skipped = consumer->skipped;
        count = 1;
    }
    while (count < max && count <= consumer->view.mask && show(consumer, count, &list[count]) == 0)
        count++;
    consumer->shown = count;
    *out = count;
    return 0;
}

int rapahub_consumer_done(struct rapahub_consumer *consumer, size_t count)
{
    if (count > consumer->shown)
        return rapahub_fail(RAPAHUB_EINVAL, "region.ack",
                            "%zu messages are done, and %zu were shown", count, consumer->shown);
    consumer->shown -= count;
    if (count > 0)
        consumer->skipped = 0;
    while (count-- > 0)
        take_out(consumer);
    return 0;
}

void rapahub_consumer_blocked(const struct rapahub_consumer *consumer,
                              struct rapahub_region_blocker *out)
{
    *out = consumer->blocker;
}

int rapahub_consumer_fd(struct rapahub_consumer *consumer)
{
    int r = 0;

    if (!consumer->watcher)
        r = hub_watcher_start(consumer->role.region, consumer->head, &consumer->watcher);
    return r < 0 ? r : hub_watcher_fd(consumer->watcher);
}

void rapahub_consumer_close(struct rapahub_consumer *consumer)
{
    if (!consumer)
        return;
    hub_watcher_stop(consumer->watcher);
    store_head(consumer);
    hub_role_drop(&consumer->role);
    free(consumer);
}
