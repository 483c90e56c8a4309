/* SPDX-License-Identifier: Apache-2.0 */
/* guests: carries out what supervision decides: starts, restarts, stops, and tells of it. Owner. */
#ifndef HOST_LIVES_GUESTS_H
#define HOST_LIVES_GUESTS_H

#include "host/process/guest.h"

struct host_observe;

/* Makes its process, as was decided. */
void host_guests_start(struct host_guest *guest);

/* Ends it for good: by when it is dead, unless it cannot be killed. */
uint64_t host_guests_stop(struct host_guest *guest);

/* Its process is asked to go: goodbye, then SIGTERM, then SIGKILL. Harmless for one that has none.
 */
void host_guests_ask(struct host_guest *guest);

/* All of them at once, with one deadline, for the end of the host. */
void host_guests_stop_all(struct host_observe *host);
void host_guests_free_all(struct host_observe *host);

/* A life has begun: it is known to all, and its start is timed. */
void host_guests_begin(struct host_life *life);

/* What happens to a life. */
void host_guests_attached(struct host_life *life);
void host_guests_ready(struct host_life *life);
void host_guests_open(struct host_life *life); /* those of its containers that start are ready */
/* It is stuck, for a cause of class WATCHDOG: it is killed when it had time for its last words. */
void host_guests_abort(struct host_life *life, enum host_cause cause);

void host_guests_leaving(struct host_life *life);  /* it goes by itself */
void host_guests_violated(struct host_life *life); /* it broke a rule: then it is killed */
void host_guests_ended(struct host_life *life);    /* proven dead, its calls have ended */

/* If it broke a rule, that is counted and told, once, though it be dead. */
void host_guests_blame(struct host_life *life);

/* Kills it for a cause, which is recorded first. */
void host_guests_end(struct host_life *life, enum host_cause cause, const char *why);

#endif
