/* SPDX-License-Identifier: Apache-2.0 */
/* observer: tells a second party what becomes of a supervisor and of all below it, through a ring
 * of fixed size that it reads on a thread of its own. The owner never waits for it: events that do
 * not fit are dropped, and the reader sees that from the sequence numbers. */
#ifndef HOST_OBSERVE_OBSERVER_H
#define HOST_OBSERVE_OBSERVER_H

#include <rapahub/supervise.h>

#include "host/supervise/machine.h"

struct host_observe;
struct host_life;

/* A child was added. */
void host_observer_added(struct host_observe *host, uint32_t place);

/* The state of a child has changed. */
void host_observer_moved(struct host_observe *host, const struct host_decision *decision);

/* All that a life held was returned. */
void host_observer_reaped(struct host_observe *host, const struct host_life *life);

/* Ends all observers: no event follows. */
void host_observer_end_all(struct host_observe *host);

/* In a forked child: frees its copies without telling any reader. */
void host_observer_forget_all(struct host_observe *host);

#endif
