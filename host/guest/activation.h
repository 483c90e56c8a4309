/* SPDX-License-Identifier: Apache-2.0 */
/* activation: a call to a guest that is not ready waits, is refused, or makes the guest start. */
#ifndef HOST_GUEST_ACTIVATION_H
#define HOST_GUEST_ACTIVATION_H

#include "host/process/guest.h"

struct host_supervision;

/* Looks at a guest that takes no calls now. Returns -EAGAIN if the call may wait for it, else the
 * error with its diagnosis. `*calls` is set if the guest starts only after host_activation_call.
 * The caller holds a lock of the routes. */
int host_activation_look(const struct host_guest *guest, bool *calls);

/* Tells the owner that a caller waits for the guest of this container. Any thread. -ETIMEDOUT if
 * the owner did not run this before the deadline. */
int host_activation_call(struct host_supervision *host, struct rapahub_container_id target,
                         uint64_t deadline_ns);

#endif
