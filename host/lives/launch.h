/* SPDX-License-Identifier: Apache-2.0 */
/* launch: makes everything that a process of a guest needs, and starts it: entry, memory, doorbell,
 * pipes, ticket, environment. After a failure nothing is left. Owner. */
#ifndef HOST_LIVES_LAUNCH_H
#define HOST_LIVES_LAUNCH_H

#include "host/process/guest.h"

/* Returns with a running process, an open link, and watched descriptors. */
int host_launch(struct host_guest *guest, struct host_life **out);

#endif
