/* SPDX-License-Identifier: Apache-2.0 */
/* role: the roles of a region: the producer of SPSC, each producer of FANIN, the consumer, each
 * consumer of FANOUT and its router, the writer of a state, and each stage of a sequencer, whose
 * role is that of a consumer, are one each. A role is a lock on the file; in a region with leases
 * each handle has a lease as well. r[impl region.role] */
#ifndef HUB_BUS_ROLE_H
#define HUB_BUS_ROLE_H

#include "hub/bus/region_lease.h"

struct hub_role {
    struct rapahub_region *region;
    enum hub_lease_role role;
    uint32_t index; /* which consumer of FANOUT, producer of FANIN, or stage */
    uint32_t lease; /* HUB_LEASE_NONE: the region has none */
};

/* Takes a role for a new handle, and takes back what the dead held before. RAPAHUB_EROLETAKEN: its
 * holder lives; RAPAHUB_EBADKIND: no such role in this region; -EINVAL: it is mapped read-only;
 * RAPAHUB_EFULL; -ETIMEDOUT; RAPAHUB_ESTALE. */
int hub_role_take(struct rapahub_region *region, enum hub_lease_role role, uint32_t index,
                  struct hub_role *out);
void hub_role_drop(const struct hub_role *role);

/* The failure of a handle that has let its role go: RAPAHUB_ESTATE. `word` says which role. */
int hub_role_refuse_let_go(const char *word);

/* Says whether a role that only one handle may have is held, by its lock. */
bool hub_role_is_held(struct rapahub_region *region, enum hub_lease_role role, uint32_t index);

/* Keeps the subscription of a consumer of FANOUT while its role goes from one holder to another, or
 * does so no longer: it is not suspended only because the lock of the role is free. The keeper has
 * a lock for that, so its death ends it. A second keeper gets none. r[impl region.keep] */
void hub_role_keep(struct rapahub_region *region, uint32_t index, bool keep);

bool hub_role_is_kept(struct rapahub_region *region, uint32_t index);

/* The other side of a wait, where there is only one. */
struct hub_role_counterpart {
    struct rapahub_region *region;
    enum hub_lease_role role;
    bool seen;      /* in a region without leases: its lock was held */
    uint32_t index; /* which stage; else 0 */
};

/* Says whether it proved dead since the last look; it is taken back then. A counterpart that closed
 * its handle is no dead one where there are leases; without them it is as good as dead. A role that
 * was not taken yet is not dead. r[impl region.peer.dead] */
bool hub_role_counterpart_died(struct hub_role_counterpart *counterpart);

#endif
