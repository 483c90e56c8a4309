/* SPDX-License-Identifier: Apache-2.0 */
/* wait_ends: how a wait notices that its peer is gone, and that its doorbell rang. Part of wait. */
#ifndef HUB_SHM_WAIT_ENDS_H
#define HUB_SHM_WAIT_ENDS_H

#include "hub/shm/wait.h"

/* The state of one wait. */
struct hub_wait_ends {
    struct hub_wait *wait;
    const struct hub_wait_order *order;
    uint64_t start_ns;
    bool pidfd_done; /* it was reported */
    bool deaf;       /* its doorbell is ignored now */
    bool told;       /* a polled descriptor had an event */
};

/* Say whether this wait polls the doorbell, and the pidfd. */
bool hub_wait_ends_by_bell(const struct hub_wait_ends *ends);
bool hub_wait_ends_by_pidfd(const struct hub_wait_ends *ends);

/* Polls the descriptors that this thread may poll, for at most `span_ns`, which must not be
 * HUB_NEVER. */
void hub_wait_ends_poll(struct hub_wait_ends *ends, uint64_t span_ns);

/* Step 4 of the ladder: arms the doorbell bits and polls, if nothing is ready. */
void hub_wait_ends_sleep(struct hub_wait_ends *ends, uint64_t span_ns);

/* Check for ends that cause no event: the host of a guest with a doorbell of datagrams, and a peer
 * without a doorbell. */
void hub_wait_ends_see_parent(struct hub_wait_ends *ends);
void hub_wait_ends_look(struct hub_wait_ends *ends);

#endif
