/* SPDX-License-Identifier: Apache-2.0 */
/* role_arrivals: descriptions of regions that came with bytes of the doorbell, each for one role,
 * until the message that names the role takes them up. Any thread. */
#ifndef GUEST_SDK_ROLE_ARRIVALS_H
#define GUEST_SDK_ROLE_ARRIVALS_H

#include <stdint.h>

#include "hub/base/mutex.h"
#include "hub/shm/doorbell.h"

struct hub_grant;

#define GUEST_ROLE_ARRIVALS_MAX                                       \
    16 /* the host sends one, and then waits for its role to be built \
        */

struct guest_role_arrivals {
    struct hub_mutex lock;
    int fds[GUEST_ROLE_ARRIVALS_MAX] GUARDED_BY(lock); /* the oldest first */
    uint32_t count GUARDED_BY(lock);
    struct hub_doorbell_inbox inbox; /* for the reader of the doorbell */
};

void guest_role_arrivals_init(struct guest_role_arrivals *arrivals);
void guest_role_arrivals_fini(struct guest_role_arrivals *arrivals);

/* Returns the oldest descriptor whose own description has what was granted, which is the caller's
 * from then on; -1: none came. Another one of the same region may be there for a role whose message
 * is late, or was cancelled. */
int guest_role_arrivals_take(struct guest_role_arrivals *arrivals, const struct hub_grant *grant);

#endif
