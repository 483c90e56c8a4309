/* SPDX-License-Identifier: Apache-2.0 */
/* successor: a process of another module beside that of a guest, and the change of the two. Until
 * then, and the old one behind it, it is a guest of its own, "NAME.next" and "NAME.old", which
 * nobody supervises and no call reaches. Owner. */
#ifndef HOST_UPGRADE_SUCCESSOR_H
#define HOST_UPGRADE_SUCCESSOR_H

#include "host/process/guest.h"

/* In a place of its own, not started. What the module is refused for; RAPAHUB_EFULL. */
int host_successor_create(const struct host_guest *of, const char *chimod, struct host_guest **out);

/* RAPAHUB_EFULL: no entry is free for its process. It takes as many turns as it takes until its
 * state is READY, or it is over. */
int host_successor_start(struct host_guest *successor);

/* 0: both have the other one's process, module and methods, and what a call finds is the new one:
 * under the write lock. */
void host_successor_exchange(struct host_guest *guest, struct host_guest *successor);

/* Its process is asked to end; or killed. Harmless where it has none. */
void host_successor_retire(struct host_guest *successor);
void host_successor_kill(struct host_guest *successor);

/* Nothing is left of it; where its process does not die, it is left to the host. */
void host_successor_drop(struct host_guest *successor);

#endif
