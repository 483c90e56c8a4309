/* SPDX-License-Identifier: Apache-2.0 */
/* watch: reads the peer entry of a guest: its state, and whether its heart beats. Silence alone
 * repairs nothing: it leads to SIGKILL, and that to proof of death. Owner. */
#ifndef HOST_GUEST_WATCH_H
#define HOST_GUEST_WATCH_H

#include "host/process/life.h"

struct host_supervision;

/* Is a debugger attached that the guest did not start itself? It excuses a guest for an hour. */
bool host_watch_is_traced(struct host_life *life);

/* May the guest be found stuck: attached, open, and not being killed? */
bool host_watch_is_judged(const struct host_life *life);

/* Is the guest excused from being stuck, by `debug` or by a debugger? Ask this last: it reads
 * /proc. */
bool host_watch_is_excused(struct host_life *life);

/* Looks at the state of the entry now: attached, leaving, or a violation. */
void host_watch_look(struct host_life *life);

/* The doorbell rang. If it rings far too often, it is not watched for a while, and the ring is
 * polled by timer. */
void host_watch_listen(struct host_life *life);

/* Begins, after the start of a guest, to look at heartbeats, if the host's segments ask for any,
 * and at guests that do not ring. */
void host_watch_begin(struct host_supervision *host);

/* The owner waits for something, or was asked to see to something. If the host rested, the guests
 * are looked at when the next second begins. */
void host_watch_expect(struct host_supervision *host);

/* The same at the end of a turn, if something is open now. */
void host_watch_rouse(struct host_supervision *host);

#endif
