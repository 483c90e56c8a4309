/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/ring_reader.h"

#include "hub/base/clock.h"
#include "hub/bus/blocker.h"
#include "hub/bus/bus_wait.h"
#include "hub/bus/reap.h"
#include "hub/bus/resume.h"
#include "hub/bus/spsc.h"

#define EMPTY_LOOKS                                                              \
    64 /* looks without a wait that find nothing before the claims are looked at \
        */

int hub_ring_reader_begin(struct hub_ring_reader *reader)
{
    reader->spins = true;
    return hub_resume_head(&reader->view, &reader->head);
}

void hub_ring_reader_store(struct hub_ring_reader *reader)
{
    if (reader->unstored > 0)
        hub_store_relaxed64(&reader->view.ring->head, reader->head);
    reader->unstored = 0;
}

void hub_ring_reader_take(struct hub_ring_reader *reader)
{
    hub_spsc_free(&reader->view, reader->head);
    reader->head++;
    if (++reader->unstored >= reader->view.head_batch)
        hub_ring_reader_store(reader);
    hub_sleep_wake(&reader->view.not_full);
}

int hub_ring_reader_show(struct hub_ring_reader *reader, uint64_t ahead,
                         struct rapahub_message *out)
{
    for (;;) {
        switch (hub_spsc_look(&reader->view, reader->head + ahead, out)) {
        case HUB_SPSC_MESSAGE:
            return 0;
        case HUB_SPSC_EMPTY:
            return RAPAHUB_EEMPTY;
        case HUB_SPSC_POISONED:
            if (ahead > 0)
                return RAPAHUB_EEMPTY;
            reader->skipped++;
            hub_ring_reader_take(reader);
            break;
        default:
            return RAPAHUB_ECORRUPT;
        }
    }
}

static bool has_something(const void *user)
{
    return !hub_ring_reader_is_empty(user);
}

/* The position at the head is claimed: its producer is slow, stopped or dead. Only the dead are
 * repaired. */
static bool is_claimed(const struct hub_ring_reader *reader)
{
    return reader->many && hub_observe64(&reader->view.ring->tail) > reader->head;
}

static int look_at_producers(void *user)
{
    struct hub_ring_reader *reader = user;
    struct rapahub_region *region = reader->producer.region;

    if (is_claimed(reader)) {
        if (hub_blocker_is_dead(region, reader->head))
            (void)hub_reap_try(region);
        return 0;
    }
    return hub_role_counterpart_died(&reader->producer)
               ? rapahub_fail(RAPAHUB_EPEERDEAD, "region.peer.dead",
                              "the region is empty, and its %s is dead",
                              reader->producer.role == HUB_LEASE_ROUTER ? "router" : "producer")
               : 0;
}

void hub_ring_reader_rest(struct hub_ring_reader *reader, bool told)
{
    hub_ring_reader_store(reader);
    if ((told || ++reader->empty % EMPTY_LOOKS == 0) && is_claimed(reader))
        (void)look_at_producers(reader);
}

int hub_ring_reader_wait(struct hub_ring_reader *reader, uint64_t deadline_ns)
{
    const struct hub_bus_wait wait = {.region = reader->producer.region,
                                      .sleep = &reader->view.not_empty,
                                      .ready = has_something,
                                      .look = look_at_producers,
                                      .user = reader,
                                      .spins = &reader->spins};
    int r = hub_bus_wait_until(&wait, deadline_ns);

    return r == RAPAHUB_ETIMEDOUT && is_claimed(reader)
               ? hub_blocker_refuse(reader->producer.region, reader->head, &reader->blocker)
               : r;
}
