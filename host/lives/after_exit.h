/* SPDX-License-Identifier: Apache-2.0 */
/* after_exit: what follows the end of a life: a restart, now or later, or none; and who is told.
 * Owner.
 */
#ifndef HOST_LIVES_AFTER_EXIT_H
#define HOST_LIVES_AFTER_EXIT_H

#include "host/process/end.h"
#include "host/process/guest.h"

struct host_decision;

/* The guest is EXITED and has no life: that is told, and what follows is decided. */
void host_after_exit(struct host_guest *guest, const struct host_end *end);

/* Its state was decided: others see it, and are told where it is an end or another beginning. */
void host_after_exit_moved(struct host_guest *guest, const struct host_decision *decision);

/* An event of this guest; kind, cause and the like are set, the rest is filled in. */
void host_after_exit_tell(const struct host_guest *guest, struct rapahub_event *event);

#endif
