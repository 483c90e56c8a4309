/* SPDX-License-Identifier: Apache-2.0 */
/* launch: all that a process of a guest needs, and its start: entry, memory, doorbell, pipes,
 * ticket, environment. Either all of it stands, or nothing is left. Owner. */
#ifndef HOST_LIVES_LAUNCH_H
#define HOST_LIVES_LAUNCH_H

#include "host/process/guest.h"

/* The process runs, its link is open, its descriptors are watched. */
int host_launch(struct host_guest *guest, struct host_life **out);

#endif
