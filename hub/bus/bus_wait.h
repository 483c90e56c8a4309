/* SPDX-License-Identifier: Apache-2.0 */
/* bus_wait: one wait of a side of a ring: looks for a while, then sleeps, and looks meanwhile
 * whether the other side lives. Every wait has a deadline. r[impl region.bound] */
#ifndef HUB_BUS_BUS_WAIT_H
#define HUB_BUS_BUS_WAIT_H

#include "hub/bus/region.h"

struct hub_bus_wait {
    const struct rapahub_region *region;
    const struct hub_sleep *sleep;
    bool (*ready)(const void *user); /* the condition of the wait holds */
    int (*look)(void *user);         /* at the other side: 0, or the code that ends the wait */
    void *user;
    bool *spins; /* looking for a while was enough the last time */
};

/* Returns 0 when it is ready, -ETIMEDOUT without a diagnosis, RAPAHUB_ESTALE, or what `look` says.
 */
int hub_bus_wait_until(const struct hub_bus_wait *wait, uint64_t deadline_ns);

#endif
