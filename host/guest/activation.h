/* SPDX-License-Identifier: Apache-2.0 */
/* activation: what a call meets that finds its guest not ready: it waits, is refused, or makes the
 * guest start. */
#ifndef HOST_GUEST_ACTIVATION_H
#define HOST_GUEST_ACTIVATION_H

#include "host/process/guest.h"

struct host_supervision;

/* Of a guest that takes no call now, under a lock of routes: -EAGAIN where the call may wait for
 * it, or why not, with the diagnosis. `calls`: it is started by host_activation_call, and not
 * without.
 */
int host_activation_look(const struct host_guest *guest, bool *calls);

/* Tells the owner that somebody waits for the guest of this container; any thread. -ETIMEDOUT where
 * the owner did not hear it in time. */
int host_activation_call(struct host_supervision *host, struct rapahub_container_id target,
                         uint64_t deadline_ns);

#endif
