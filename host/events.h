/* SPDX-License-Identifier: Apache-2.0 */
/* events: what the embedder is told, queued where it happens and handed out at the end of a turn of
 * the loop: the callback may call the library, so nothing may be half done then. Owner thread. */
#ifndef HOST_EVENTS_H
#define HOST_EVENTS_H

#include <rapahub/host.h>

#include "hub/base/list.h"

#define HOST_EVENTS_MAX 4096 /* waiting; a line of output more is dropped */

struct host_events {
    struct hub_list queue;
    uint32_t count;
    bool delivering;
};

void host_events_init(struct host_events *events);
void host_events_fini(struct host_events *events); /* drops what is left */

/* Copies it. Nobody listens: nothing happens. */
void host_events_post(struct rapahub_host *host, const struct rapahub_event *event);

/* The same for who asked to be told of a death; NULL: nobody. */
void host_events_post_death(struct rapahub_host *host, rapahub_on_death *on_death, void *user,
                            const struct rapahub_event *event);

/* Hands out what is queued: how many. Nothing from inside a callback. */
int host_events_deliver(struct rapahub_host *host);

#endif
