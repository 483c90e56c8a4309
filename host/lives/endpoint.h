/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint: the host's end of a life that has a doorbell: its entry in a segment, and how the host
 * hears of it. Owner. */
#ifndef HOST_LIVES_ENDPOINT_H
#define HOST_LIVES_ENDPOINT_H

#include "host/process/guest.h"

/* Reserves an entry for the life: in the segment of all trusted guests, or in a new one of its own.
 * The errors of host_group_create and host_group_enter. */
int host_endpoint_enter(struct host_guest *guest, struct host_life *life);

/* Watches the doorbell, and looks out for the end of the process if there is a pidfd. The
 * connection is open. */
int host_endpoint_watch(struct host_life *life);

#endif
