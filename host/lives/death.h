/* SPDX-License-Identifier: Apache-2.0 */
/* death: from the first hint to the return of all that a guest held. A hint leads to a kill, a kill
 * to the proof of death, and only the proof to repair. Owner. */
#ifndef HOST_LIVES_DEATH_H
#define HOST_LIVES_DEATH_H

#include <stdint.h>

#include "host/process/life.h"

struct host_observe;

/* Handlers of a life's watches. */
void host_death_on_pidfd(void *life, uint32_t events);
void host_death_on_bell(void *life, uint32_t events);
void host_death_on_hangup(void *life, uint32_t events); /* an admitted guest has ended */

/* Looks whether the life is dead. Suspicions kill it where they arise. A life whose death cannot be
 * proven is quarantined when it would be killed. */
void host_death_look(struct host_life *life);

/* The link of the life has closed. */
void host_death_closed(struct host_life *life);

/* Delivers the ends of calls that came after the end of their life: another thread was receiving a
 * response when the life was settled. The ends do not wait for the users of the life's memory.
 * Returns how many there were. */
int host_death_deliver(struct host_observe *host);

/* Frees the lives that have ended and have no user. Outermost turn only. */
void host_death_sweep(struct host_observe *host);

/* The same at the end of the host: waits for lives that can be freed only a moment later. */
void host_death_sweep_all(struct host_observe *host);

#endif
