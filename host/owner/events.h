/* SPDX-License-Identifier: Apache-2.0 */
/* events: the events that the embedder is told of. They are queued where they happen and delivered
 * at the end of a turn of the loop: the callback may call the library, so nothing may be half done
 * then. Owner thread. */
#ifndef HOST_OWNER_EVENTS_H
#define HOST_OWNER_EVENTS_H

#include <rapahub/host.h>

#include "hub/base/list.h"

struct host_owner;

#define HOST_EVENTS_MAX        4096 /* queued events; beyond it lines of output are dropped */
#define HOST_EVENTS_SPARE      16   /* places for events when malloc fails */
#define HOST_EVENTS_SPARE_SIZE 512

struct host_events {
    struct hub_list queue;
    uint32_t count;
    bool delivering;
    void (*on_event)(void *user, const struct rapahub_event *event); /* NULL: no listener */
    void *user;
    uint32_t spare_taken; /* a bit for each spare place */
    _Alignas(max_align_t) uint8_t spare[HOST_EVENTS_SPARE][HOST_EVENTS_SPARE_SIZE];
};

void host_events_init(struct host_events *events);
void host_events_fini(struct host_events *events); /* drops undelivered events */

/* Queues a copy of the event. Does nothing without an on_event. If memory is short, the event is
 * still delivered, with its texts cut; only lines of output are dropped. */
void host_events_post(struct host_owner *host, const struct rapahub_event *event);

/* The same for a death, to the callback that was registered for it; NULL: does nothing. */
void host_events_post_death(struct host_owner *host, rapahub_on_death *on_death, void *user,
                            const struct rapahub_event *event);

/* Delivers the queued events and returns their number. Does nothing inside a callback. */
int host_events_deliver(struct host_owner *host);

#endif
