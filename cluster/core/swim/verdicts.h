/* SPDX-License-Identifier: Apache-2.0 */
/* verdicts: what this node holds of each member, by its own probes and by what it hears. A verdict
 * never holds back a probe or an answer, and moves no container.
 */
#ifndef CLUSTER_CORE_SWIM_VERDICTS_H
#define CLUSTER_CORE_SWIM_VERDICTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/swim/gossip.h"
#include "cluster/core/swim/members.h"
#include "cluster/core/swim/suspicion.h"
#include "cluster/wire/datagram.h"

struct cluster_verdicts {
    struct cluster_members members;
    struct cluster_gossip gossip;
    struct cluster_suspicion_rule rule;
    struct cluster_timers *timers;
    struct cluster_member *self; /* a member, too */
    struct hub_list changed;     /* members whose state the owner has not been told */
    uint8_t health;              /* this node's: local_health.h */
    uint64_t unknown, impossible,
        refuted; /* updates: no such member; too large a number; this node in doubt */
};

/* Notes what another says. `merged`: from the whole of what it knows, where Dead is hearsay and
 * counts as Suspected. */
void cluster_verdicts_hear(struct cluster_verdicts *verdicts, uint64_t now_ns,
                           const struct cluster_update *update, bool merged);

/* Notes that the member answered in no way, or that it answered. */
void cluster_verdicts_suspect(struct cluster_verdicts *verdicts, uint64_t now_ns,
                              struct cluster_member *member);
void cluster_verdicts_answered(struct cluster_verdicts *verdicts, struct cluster_member *member);

/* Notes that the member does not answer directly; others are being asked. */
void cluster_verdicts_probe_failed(struct cluster_verdicts *verdicts,
                                   struct cluster_member *member);

/* The timer of a suspicion has come. */
void cluster_verdicts_due(struct cluster_verdicts *verdicts, uint64_t now_ns,
                          struct cluster_member *member);

/* Notes that a member is told of in the metastore: in a later life it is alive anew. -EINVAL: its
 * session is below the one that is known. RAPAHUB_EFULL: there are too many members. */
int cluster_verdicts_add(struct cluster_verdicts *verdicts, uint32_t id, uint64_t session);

/* Forgets a member that the metastore has no more. */
void cluster_verdicts_forget(struct cluster_verdicts *verdicts, uint32_t id);

/* This node leaves in order, which is told. */
void cluster_verdicts_leave(struct cluster_verdicts *verdicts);

#endif
