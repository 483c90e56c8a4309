/* SPDX-License-Identifier: Apache-2.0 */
/* lease: the time until which a host may serve the containers that are under a lease, in one word
 * of each of its segments. The host writes it at any time; a guest reads it just before it runs a
 * call of such a container, so no call that was on its way, or was sent by a thread that had been
 * stopped, runs after the end. Nothing of it is read back by the host. */
#ifndef HUB_SHM_LEASE_H
#define HUB_SHM_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/shm/layout.h"

/* Converts the end of a lease, by hub_clock_boot, to the word. It is 0 for HUB_NEVER, so a new
 * segment has no end. */
uint64_t hub_lease_word(uint64_t until_ns);

/* Returns whether a lease with this word is over. The clock is read only if the lease has an end.
 * Any thread. */
bool hub_lease_is_over(const struct hub_a64 *lease);

#endif
