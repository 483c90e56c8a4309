/* SPDX-License-Identifier: Apache-2.0 */
/* nested: the uids of calls that running calls make. A call in an acked pool that runs once more
 * makes them once more: it gives them the same uids, so that the containers which they go to know
 * them. An origin stands for one call in one container; it follows from the uid of that call by
 * SHA-256, and has no bit 63, so that no client can have it. Its numbers count the calls that are
 * made. It ends with the call at the root of the chain, which then runs no more. Owner.
 */
#ifndef CLUSTER_NODE_CALLS_NESTED_H
#define CLUSTER_NODE_CALLS_NESTED_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/ids.h"

struct cluster_nested;

/* A call that runs in a container. */
struct cluster_nested_run {
    struct cluster_uid uid;
    uint64_t pool;
    uint32_t container;
    bool several;  /* it runs in other containers too */
    bool again;    /* it, or one that it serves to answer, may run again in its lineage */
    uint64_t root; /* number of the call at the root of its chain */
};

/* The table that its owner is told by: a constant. */
struct cluster_nested_hooks {
    void (*ended)(void *user, uint64_t origin); /* nothing more comes of it */
};

/* Makes a table of at most `most` runs. -ENOMEM. */
int cluster_nested_create(uint32_t most, uint64_t secret, const struct cluster_nested_hooks *hooks,
                          void *user, struct cluster_nested **out);
void cluster_nested_release(struct cluster_nested **nested);

/* A run begins. Returns its place, and in `uid` the one by which the host knows it, which no other
 * run has. 0: a failure, -EBUSY or -ENOMEM, with its diagnosis. */
uint32_t cluster_nested_begin(struct cluster_nested *nested, const struct cluster_nested_run *run,
                              struct cluster_uid *uid);

/* It has ended. */
void cluster_nested_end(struct cluster_nested *nested, uint32_t place);

/* Finds the run with the host's uid, the latest where there are more. 0: there is none. */
uint32_t cluster_nested_find(const struct cluster_nested *nested, struct cluster_uid uid);
const struct cluster_nested_run *cluster_nested_at(const struct cluster_nested *nested,
                                                   uint32_t place);

/* Names the next call that a run makes, if it is `again`. -ENOMEM. */
int cluster_nested_name(struct cluster_nested *nested, uint32_t place, bool root_is_open,
                        struct cluster_uid *out);

/* The call at the root of a chain has ended. */
void cluster_nested_root_ended(struct cluster_nested *nested, uint64_t root);

#endif
