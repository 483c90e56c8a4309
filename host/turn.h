/* SPDX-License-Identifier: Apache-2.0 */
/* turn: one round of the owner's work: descriptors, timers, requests, ends of calls, events. The
 * owner takes turns in dispatch, and wherever it waits: so turns lie inside of turns, and whoever
 * takes one must hold what it uses. */
#ifndef HOST_TURN_H
#define HOST_TURN_H

#include <rapahub/host.h>

/* Waits at most so long for something to do, and does it: how many things, or -errno. */
int host_turn(struct rapahub_host *host, int timeout_ms);

/* A turn that waits at most until `deadline_ns`, by who waits for something. */
int host_turn_until(struct rapahub_host *host, uint64_t deadline_ns);

/* Something is to be looked at then: the descriptor of the loop tells of it. Any thread. */
void host_turn_expect(struct rapahub_host *host, uint64_t due_ns);

/* From now on somebody may wait for the loop's descriptor: no turn leaves a doorbell unarmed. Any
 * thread. */
void host_turn_show(struct rapahub_host *host);

#endif
