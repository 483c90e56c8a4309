/* SPDX-License-Identifier: Apache-2.0 */
/* naming: keeps the records of holders as they are to be. The node that leads changes them, each
 * by one step in a transaction that compares the record, the epoch of the container, the leader's
 * session and its term; so an owner always waits for all that are named. An owner tells the node
 * that leads when one that joins has a full copy.
 */
#ifndef CLUSTER_CORE_NAMING_NAMING_H
#define CLUSTER_CORE_NAMING_NAMING_H

#include "cluster/core/copies/holders.h"
#include "cluster/core/ops/context.h"
#include "cluster/wire/copy_body.h"

#define CLUSTER_NAMING_AT_ONCE  16                         /* containers in a transaction */
#define CLUSTER_NAMING_AGAIN_NS (UINT64_C(200) * 1000000)  /* after one that has not happened */
#define CLUSTER_NAMING_TELL_NS  (UINT64_C(1) * 1000000000) /* between two reports of the same */
#define CLUSTER_NAMING_SEEN_NS  (UINT64_C(5) * 1000000000) /* for the own change to be told */

struct cluster_naming;

/* All live longer. -ENOMEM. */
int cluster_naming_create(const struct cluster_context *context, struct cluster_holders *holders,
                          struct cluster_naming **out);
void cluster_naming_release(struct cluster_naming **naming);

/* Something that holders depend on has changed: pools, entries, nodes, links, records. */
void cluster_naming_changed(struct cluster_naming *naming);

/* The metastore has told a record of holders, of this revision. */
void cluster_naming_seen(struct cluster_naming *naming, uint64_t revision);

/* Detection holds a node dead, or not any more. */
void cluster_naming_verdict(struct cluster_naming *naming, uint32_t node, bool is_dead);

/* A node tells in this session, by a body that was read, that one that joins has a copy.
 * RAPAHUB_ESTALE: it is of no entry, or of no record of holders, that is so now. */
int cluster_naming_take_held(struct cluster_naming *naming, uint32_t from, uint64_t session,
                             const struct cluster_body_copy_held *held);

/* A transaction has ended. False: it is none of its own. */
bool cluster_naming_stored(struct cluster_naming *naming, uint64_t id, int32_t status,
                           uint64_t revision);

/* Does what is due. */
void cluster_naming_step(struct cluster_naming *naming, uint64_t now_ns);

/* Returns when something is due, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_naming_next(const struct cluster_naming *naming);

#endif
