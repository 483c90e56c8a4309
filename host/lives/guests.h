/* SPDX-License-Identifier: Apache-2.0 */
/* guests: carries out what supervision decides: starts, restarts and stops guests, and tells of it.
 * Owner. */
#ifndef HOST_LIVES_GUESTS_H
#define HOST_LIVES_GUESTS_H

#include "host/process/guest.h"

struct host_observe;

/* Starts a process of the guest, as was decided. */
void host_guests_start(struct host_guest *guest);

/* Stops the guest for good. Returns the time by which it is dead, unless it cannot be killed. */
uint64_t host_guests_stop(struct host_guest *guest);

/* Asks the process to leave: goodbye, then SIGTERM, then SIGKILL. Harmless if there is none. */
void host_guests_ask(struct host_guest *guest);

/* For the end of the host: stops all guests at once, with one deadline; then frees those that have
 * no life. */
void host_guests_stop_all(struct host_observe *host);
void host_guests_free_all(struct host_observe *host);

/* A life has begun. Makes it known to all, and begins the time of its start. */
void host_guests_begin(struct host_life *life);

/* Events of a life. */
void host_guests_attached(struct host_life *life);
void host_guests_ready(struct host_life *life);
void host_guests_open(struct host_life *life); /* the containers that start are ready */
/* The life is stuck, for a cause of class WATCHDOG. It gets time for its last words, then is
 * killed. */
void host_guests_abort(struct host_life *life, enum host_cause cause);

void host_guests_leaving(struct host_life *life);  /* it leaves by itself */
void host_guests_violated(struct host_life *life); /* it broke a rule: it is killed */
void host_guests_ended(struct host_life *life);    /* proven dead, its calls have ended */

/* Counts and tells a broken rule, once, even if the life is dead. */
void host_guests_blame(struct host_life *life);

/* Kills a life for a cause, which is recorded first. */
void host_guests_end(struct host_life *life, enum host_cause cause, const char *why);

#endif
