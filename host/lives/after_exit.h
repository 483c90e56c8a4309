/* SPDX-License-Identifier: Apache-2.0 */
/* after_exit: decides what follows the end of a life: a restart now, later or never; and tells of
 * it. Owner. */
#ifndef HOST_LIVES_AFTER_EXIT_H
#define HOST_LIVES_AFTER_EXIT_H

#include "host/process/end.h"
#include "host/process/guest.h"

struct host_decision;

/* The guest is EXITED and has no life. Tells of that, and decides what follows. */
void host_after_exit(struct host_guest *guest, const struct host_end *end);

/* The state of the guest was decided. Shows it to others, and tells of an end or a new start. */
void host_after_exit_moved(struct host_guest *guest, const struct host_decision *decision);

/* Tells an event of this guest. The caller sets kind, cause and the like; the rest is filled in. */
void host_after_exit_tell(const struct host_guest *guest, struct rapahub_event *event);

#endif
