/* SPDX-License-Identifier: Apache-2.0 */
/* corks: asynchronous calls that are sent together. Calls that are held back are already in the
 * rings of the guests; they become visible when the container is uncorked, at the latest. The order
 * of calls is the same as without a cork. */
#ifndef HOST_CALL_CORKS_H
#define HOST_CALL_CORKS_H

#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

/* Corks or uncorks a container, which stays corked when its guest is started again. Returns 0 or
 * RAPAHUB_ENOENT. Any thread. */
int host_corks_set(struct host_call *host, struct rapahub_container_id target, bool corked);

/* Returns whether a call to the container may be held back. Any thread. */
bool host_corks_holds(const struct host_container *container);

/* Notes that such a call has been sent to this life. It is shown at once if another thread has
 * uncorked the container meanwhile. Any thread. */
void host_corks_sent(struct host_call *host, const struct host_container *container,
                     struct host_life *life);

/* Shows all calls that are held back, before a thread waits for anything. Costs one load if there
 * was no call since the last time. Any thread. */
void host_corks_push(struct host_call *host);

#endif
