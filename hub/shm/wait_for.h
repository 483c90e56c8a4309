/* SPDX-License-Identifier: Apache-2.0 */
/* wait_for: a wait for what its order names, down the ladder: yield, spin, futex, doorbell. */
#ifndef HUB_SHM_WAIT_FOR_H
#define HUB_SHM_WAIT_FOR_H

#include "hub/shm/wait.h"

/* 0 as soon as `ready`; -ETIMEDOUT at the deadline; -EAGAIN where only spinning was allowed and did
 * not help; both without a diagnosis. Where the peer hangs up it calls hung_up, once for the
 * doorbell and once for the pidfd (a proof may come later than the hint), and goes on until ready
 * or the deadline. r[impl hub.wait.ladder] r[impl hub.wait.bound] r[impl hub.wait.budget] */
int hub_wait_for(struct hub_wait *wait, const struct hub_wait_order *order);

/* The first looks of a wait that pays (hub_wait_is_near), at one word of the peer: true as soon as
 * it is not `seen` any more. `cell` is what will be read then. */
bool hub_wait_for_word(struct hub_wait *wait, const struct hub_a32 *word, uint32_t seen,
                       const void *cell);

#endif
