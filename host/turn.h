/* SPDX-License-Identifier: Apache-2.0 */
/* turn: one round of the owner's work: descriptors, timers, upcalls, ends of calls, events. The
 * owner takes turns in dispatch and wherever it waits. So turns are nested, and the caller of one
 * must hold what it uses. Owner, unless a function says otherwise. */
#ifndef HOST_TURN_H
#define HOST_TURN_H

#include <rapahub/host.h>

/* Waits at most so long for work, and does it. Returns how many things were done, or -errno. */
int host_turn(struct rapahub_host *host, int timeout_ms);

/* A turn of a caller that waits for something: it waits at most until `deadline_ns`. */
int host_turn_until(struct rapahub_host *host, uint64_t deadline_ns);

/* Something is to be looked at at this time: the loop's descriptor becomes readable then. Any
 * thread. */
void host_turn_expect(struct rapahub_host *host, uint64_t due_ns);

/* From now on any thread may wait for the loop's descriptor, so no turn leaves a doorbell unarmed.
 * Any thread. */
void host_turn_show(struct rapahub_host *host);

#endif
