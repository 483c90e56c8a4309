/* SPDX-License-Identifier: Apache-2.0 */
/* wait_ends: how one wait sees that its peer is gone, and that its doorbell rang. Part of wait. */
#ifndef HUB_SHM_WAIT_ENDS_H
#define HUB_SHM_WAIT_ENDS_H

#include "hub/shm/wait.h"

/* One wait's memory of what it polled. */
struct hub_wait_ends {
    struct hub_wait *wait;
    const struct hub_wait_order *order;
    uint64_t start_ns;
    bool pidfd_done; /* it was reported */
    bool deaf;       /* its doorbell is not listened to now */
    bool told;       /* something that was polled has spoken */
};

/* Is the doorbell, or the pidfd, polled by this wait? */
bool hub_wait_ends_by_bell(const struct hub_wait_ends *ends);
bool hub_wait_ends_by_pidfd(const struct hub_wait_ends *ends);

/* Polls what this thread may poll, for at most `span_ns`, which must not be HUB_NEVER. */
void hub_wait_ends_poll(struct hub_wait_ends *ends, uint64_t span_ns);

/* Step 4 of the ladder: the same with the bits of the doorbell armed, where nothing is ready. */
void hub_wait_ends_sleep(struct hub_wait_ends *ends, uint64_t span_ns);

/* Looks for what makes no event: a guest's host of datagrams, a peer without a doorbell. */
void hub_wait_ends_see_parent(struct hub_wait_ends *ends);
void hub_wait_ends_look(struct hub_wait_ends *ends);

#endif
