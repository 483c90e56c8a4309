/* SPDX-License-Identifier: Apache-2.0 */
/* grant: one process takes a role of a region for another one, and hands it over.
 *
 * The granter opens a description of the region for this one role, and takes the locks and the
 * lease of the role on it. It sends the descriptor, and closes its own copy. The holder maps the
 * region through that very description: so the locks are the holder's, and are free when it is
 * dead, as if it had taken them itself. A holder that never takes the descriptor up is dead for the
 * region when the message with the descriptor is gone.
 */
#ifndef HUB_BUS_GRANT_H
#define HUB_BUS_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>

/* The role, and for whom it is taken. */
struct hub_grant_order {
    enum rapahub_region_role role; /* PRODUCER, CONSUMER, WRITER or READER */
    uint32_t index;                /* below hub_grant_places */
    int32_t pid;                   /* the holder's, for people */
    const char *name;              /* the same */
};

/* Numbers that the holder is told besides the descriptor. Each number is checked there. */
struct hub_grant {
    uint64_t region; /* its id */
    uint32_t role, index;
    uint32_t lease; /* HUB_GRANT_NO_LEASE: the region has none, or the role */
    uint64_t owner; /* the word of the lease, which is another one when it is granted again; the
                       holder is not told it */
};
#define HUB_GRANT_NO_LEASE UINT32_MAX

/* Returns how many handles of a role the region has, each with an index of its own; 0: none.
 * `shared`: any number of handles may have the same index. */
uint32_t hub_grant_places(const struct rapahub_region *region, enum rapahub_region_role role,
                          bool *shared);

/* Takes the role, and what the dead held before. Returns the descriptor, which is the caller's, or
 * a failure: RAPAHUB_EROLETAKEN, RAPAHUB_EBADKIND, RAPAHUB_EFULL, RAPAHUB_ESTALE, -ETIMEDOUT after
 * 100 ms at most. r[impl supervise.role.grant] */
int hub_grant_make(const struct rapahub_region *region, const struct hub_grant_order *order,
                   struct hub_grant *out);

/* Maps the region of a descriptor that was received, and owns the descriptor, also after a failure.
 * All of it is checked as by rapahub_region_open, and the numbers of the grant besides:
 * RAPAHUB_EPROTOCOL. A single handle can be opened, for the granted role. It gives nothing until
 * hub_region_unshut. r[impl supervise.role.holder] */
int hub_grant_adopt(int fd, const struct hub_grant *grant, struct rapahub_region **out);

/* Reads the id of the region of a descriptor; false: it is no region. Nothing is mapped. */
bool hub_grant_region_of(int fd, uint64_t *out);

/* Says whether a descriptor is of the region that a grant names, and its own description has the
 * lock of the granted lease; where there is no lease, that of the role. A lock that no description
 * has is acquired. A role without a lock is had by any description. Nothing is mapped.
 * r[impl supervise.role.holder] */
bool hub_grant_is_held(int fd, const struct hub_grant *grant);

/* Takes back at once what the dead held, unless another process is doing that. */
void hub_grant_reap(struct rapahub_region *region);

/* Ends the subscription of a consumer of FANOUT whose holder will not come again: nothing more is
 * routed to its queue. It stays where the role is held by another one than the holder of this
 * grant. Waits 100 ms at most. Harmless for any other role. r[impl supervise.role.gone] */
void hub_grant_unsubscribe(struct rapahub_region *region, const struct hub_grant *grant);

/* Keeps the subscription of a consumer of FANOUT while its holder gives the role back, and another
 * one gets it: the router waits for its credit as before. Or keeps it no longer. It ends with the
 * death of this process. Harmless for any other role. r[impl region.keep] */
void hub_grant_keep(struct rapahub_region *region, const struct hub_grant *grant, bool keep);

/* The role's handle is given messages, or values, from now on. Any thread. */
void hub_grant_open(struct rapahub_region *region);

#endif
