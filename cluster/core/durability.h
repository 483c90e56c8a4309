/* SPDX-License-Identifier: Apache-2.0 */
/* durability: what is kept of a container's state, by the durability of its pool, and what that
 * means for its calls. `none` and `local`: no copies. `checkpoint`: copies, and a new lineage after
 * each death. `acked`: an answer leaves when a copy covers its call; the next life knows exactly
 * the calls that are in the copy it has loaded, so that all others may run again.
 */
#ifndef CLUSTER_CORE_DURABILITY_H
#define CLUSTER_CORE_DURABILITY_H

#include <stdbool.h>

#include "cluster/core/calls/covered.h"
#include "cluster/core/dispatch.h"

/* Copy_owner tells of copies by these; the user is a struct cluster_dispatch. */
extern const struct cluster_copy_owner_hooks cluster_durability_hooks;

/* A life of a container has begun or begins, with a copy if `covered` is not 0. Its history of
 * calls is that of the copy, if it is of the same lineage; see cluster_dedup_begin for `covered`
 * without one. RAPAHUB_EFULL. */
int cluster_durability_begin(struct cluster_dispatch *core, uint64_t pool, uint32_t container,
                             uint64_t lineage, uint64_t covered);

/* It is down, or gone. */
void cluster_durability_down(struct cluster_dispatch *core, uint64_t pool, uint32_t container);
void cluster_durability_gone(struct cluster_dispatch *core, uint64_t pool, uint32_t container);

/* A call has ended in it. */
void cluster_durability_ended(struct cluster_dispatch *core, uint64_t pool, uint32_t container);

/* Events HOLDERS, RESTORED, SAVED and COPIED. */
int cluster_durability_holders(struct cluster_dispatch *core, const struct cluster_event *event);
int cluster_durability_restored(struct cluster_dispatch *core, const struct cluster_event *event);
int cluster_durability_saved(struct cluster_dispatch *core, const struct cluster_event *event);
int cluster_durability_copied(struct cluster_dispatch *core, const struct cluster_event *event);

/* A copy that is under way. */
struct cluster_durability_copy {
    uint64_t id; /* its effect has it */
    bool whole;  /* it has become a whole state, whatever it was asked to be */
};

/* Writes the calls that it covers, see cluster_core_covered. */
int cluster_durability_write(const struct cluster_dispatch *core,
                             const struct cluster_durability_copy *copy, struct hub_writer *to,
                             cluster_covered_body *body, void *user);

#endif
