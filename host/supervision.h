/* SPDX-License-Identifier: Apache-2.0 */
/* supervision: between the host and what decides for it: tells the machine what happened, carries
 * out what it decides, and wakes it when its time has come. Owner. */
#ifndef HOST_SUPERVISION_H
#define HOST_SUPERVISION_H

#include "host/guest.h"
#include "host/supervise/failure.h"

#define HOST_SUPERVISION_ROOT 0 /* place of the default supervisor */

int host_supervision_open(struct rapahub_host *host);
void host_supervision_close(struct rapahub_host *host);

/* Puts a guest below its supervisor (guest->group); an eager one is started. On trial it is CLOSED
 * if it ends before it was ready. Fails as host_supervisor_add does. */
int host_supervision_add(struct host_guest *guest, const struct rapahub_supervision *how,
                         bool trial);

/* A MANUAL or LAZY one starts, too. */
void host_supervision_start(struct host_guest *guest);

/* Somebody waits for it; a LAZY one starts when its delay is over. r[impl supervise.lazy] */
void host_supervision_called(struct host_guest *guest);

/* The guest will be freed: it is nobody's child any more. */
void host_supervision_forget(struct host_guest *guest);

/* Carries out all that was decided, and sets the timer. A start takes milliseconds, and what
 * happened before it is to be told first: so it comes by that timer, at once. Where it is carried
 * out already: nothing, whoever does so goes on with it. */
void host_supervision_settle(struct rapahub_host *host);

/* What happened to the present life. Of a guest that is not supervised: only its state moves. */
void host_supervision_attached(struct host_guest *guest);
void host_supervision_ready(struct host_guest *guest);
/* It takes no calls for the time being; and it does again. Nothing for one that is not supervised.
 */
void host_supervision_degraded(struct host_guest *guest);
void host_supervision_restored(struct host_guest *guest);

/* Its process was replaced by another one that serves already. Fails as host_supervisor_replaced.
 */
int host_supervision_replaced(struct host_guest *guest);

void host_supervision_leaving(struct host_guest *guest, const char *why);
void host_supervision_exited(struct host_guest *guest, const struct host_ending *ending);
void host_supervision_deferred(struct host_guest *guest, uint64_t due_ns);

bool host_supervision_is_closed(const struct host_guest *guest);

/* Stops it, and it is not started again by anybody. */
void host_supervision_end(struct host_guest *guest);

/* Stops all, and kills what is left at the deadline. */
void host_supervision_stop_all(struct rapahub_host *host, uint64_t deadline_ns);

#endif
