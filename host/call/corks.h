/* SPDX-License-Identifier: Apache-2.0 */
/* corks: calls that nobody waits for, sent together. What is held back stays in the rings of the
 * guests, and is shown at the latest when it is uncorked; the order of calls is as without. */
#ifndef HOST_CALL_CORKS_H
#define HOST_CALL_CORKS_H

#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

/* Any thread. A container stays corked when its guest is started again. 0, or RAPAHUB_ENOENT. */
int host_corks_set(struct host_call *host, struct rapahub_container_id target, bool corked);

/* May a call to it be held back? */
bool host_corks_holds(const struct host_container *container);

/* A call that might has gone out to this life; it is seen at once where somebody uncorked
 * meanwhile. */
void host_corks_sent(struct host_call *host, const struct host_container *container,
                     struct host_life *life);

/* Before a thread waits for anything: shows all that is held back. A look at one word where no call
 * was since the last time. */
void host_corks_push(struct host_call *host);

#endif
