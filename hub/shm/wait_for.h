/* SPDX-License-Identifier: Apache-2.0 */
/* wait_for: waits for the condition of an order, down the ladder: yield, spin, futex, doorbell. */
#ifndef HUB_SHM_WAIT_FOR_H
#define HUB_SHM_WAIT_FOR_H

#include "hub/shm/wait.h"

/* How much longer a stream spins while its peer is awake. A wake-up takes both sides longer than
 * the peer needs for a part of the window. */
#define HUB_WAIT_FOR_STREAM (400 * HUB_MICROSECOND)

/* Returns 0 as soon as `ready` is true; -ETIMEDOUT at the deadline; -EAGAIN if only spinning was
 * allowed and did not help; both without a diagnosis. When the peer hangs up it calls hung_up, once
 * for the doorbell and once for the pidfd (the proof may come later than the hint), and continues
 * until ready or the deadline. r[impl hub.wait.ladder] r[impl hub.wait.bound]
 * r[impl hub.wait.budget] */
int hub_wait_for(struct hub_wait *wait, const struct hub_wait_order *order);

/* The first checks of a wait for which spinning pays (hub_wait_is_near), on one word of the peer.
 * True as soon as the word differs from `seen`. `cell` will be read then, and is prefetched. */
bool hub_wait_for_word(struct hub_wait *wait, const struct hub_a32 *word, uint32_t seen,
                       const void *cell);

#endif
