/* SPDX-License-Identifier: Apache-2.0 */
/* events: what the embedder is told, queued where it happens and handed out at the end of a turn of
 * the loop: the callback may call the library, so nothing may be half done then. Owner thread. */
#ifndef HOST_OWNER_EVENTS_H
#define HOST_OWNER_EVENTS_H

#include <rapahub/host.h>

#include "hub/base/list.h"

struct host_owner;

#define HOST_EVENTS_MAX        4096 /* waiting; a line of output more is dropped */
#define HOST_EVENTS_SPARE      16   /* places for events that there is no memory for */
#define HOST_EVENTS_SPARE_SIZE 512

struct host_events {
    struct hub_list queue;
    uint32_t count;
    bool delivering;
    void (*on_event)(void *user, const struct rapahub_event *event); /* NULL: nobody listens */
    void *user;
    uint32_t spare_taken; /* a bit for each of the spare places */
    _Alignas(max_align_t) uint8_t spare[HOST_EVENTS_SPARE][HOST_EVENTS_SPARE_SIZE];
};

void host_events_init(struct host_events *events);
void host_events_fini(struct host_events *events); /* drops what is left */

/* Copies it. Nobody listens: nothing happens. Where there is no memory it is told all the same, its
 * texts cut; only lines of output are dropped then. */
void host_events_post(struct host_owner *host, const struct rapahub_event *event);

/* The same for who asked to be told of a death; NULL: nobody. */
void host_events_post_death(struct host_owner *host, rapahub_on_death *on_death, void *user,
                            const struct rapahub_event *event);

/* Hands out what is queued: how many. Nothing from inside a callback. */
int host_events_deliver(struct host_owner *host);

#endif
