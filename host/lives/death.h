/* SPDX-License-Identifier: Apache-2.0 */
/* death: from the first hint to the return of all a guest held. A hint leads to a kill, a kill to
 * the proof, and only the proof to repair. Owner. */
#ifndef HOST_LIVES_DEATH_H
#define HOST_LIVES_DEATH_H

#include <stdint.h>

#include "host/process/life.h"

struct host_observe;

/* Handlers of a life's watches. */
void host_death_on_pidfd(void *life, uint32_t events);
void host_death_on_bell(void *life, uint32_t events);

/* Looks whether it is dead; whoever suspected it has killed it. One whose death nobody can prove is
 * put out of use when it would be killed. */
void host_death_look(struct host_life *life);

/* Its link has closed. */
void host_death_closed(struct host_life *life);

/* Delivers the ends of calls that came behind the end of their life: a thread was taking an answer
 * when that was settled. What holds the memory of the life does not hold them: how many. */
int host_death_deliver(struct host_observe *host);

/* Frees the lives that have ended and that nobody uses. Outermost turn only. */
void host_death_sweep(struct host_observe *host);

/* The same at the end of the host, which waits for what can be given back a moment later only. */
void host_death_sweep_all(struct host_observe *host);

#endif
