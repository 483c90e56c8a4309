/* SPDX-License-Identifier: Apache-2.0 */
/* watch: what a guest's entry says: its state, and whether its heart beats. Nothing is repaired for
 * silence: it leads to SIGKILL, and that to proof. Owner. */
#ifndef HOST_GUEST_WATCH_H
#define HOST_GUEST_WATCH_H

#include "host/process/life.h"

struct host_supervision;

/* One under a debugger that it did not start itself stands still for good reasons, for an hour. */
bool host_watch_is_traced(struct host_life *life);

/* Is it one that may be found stuck: attached, open, and not being killed for anything? */
bool host_watch_is_judged(const struct host_life *life);

/* One with `debug`, or that a debugger looks at, is not stuck. Asked last: it reads /proc. */
bool host_watch_is_excused(struct host_life *life);

/* Looks at the state of the entry now: attached, leaving, or a violation. */
void host_watch_look(struct host_life *life);

/* The doorbell rang: where it rings far too often it is left alone for a while, and the ring looked
 * at by time. */
void host_watch_listen(struct host_life *life);

/* A guest was started: begins to look at heartbeats, if the host's segments ask for any, and at
 * guests that do not tell when they have something. */
void host_watch_begin(struct host_supervision *host);

/* The owner waits for something, or somebody asked it to see to something: the guests are looked at
 * when the next second begins, where the host rested. */
void host_watch_expect(struct host_supervision *host);

/* At the end of a turn: the same, where something is open now. */
void host_watch_rouse(struct host_supervision *host);

#endif
