/* SPDX-License-Identifier: Apache-2.0 */
/* leading: who leads, where the lead changes hands: follows the record that says so, and claims it
 * when the node that led is gone. cluster/core/session/lead.h decides, and this carries it
 * out. Where there is no such record nothing is done. Owner; nothing waits.
 */
#ifndef CLUSTER_NODE_LEAD_LEADING_H
#define CLUSTER_NODE_LEAD_LEADING_H

#include "cluster/core/session/lead.h"
#include "cluster/metastore/marker.h"
#include "cluster/node/detection/detector.h"
#include "cluster/node/map/map_nodes.h"
#include "cluster/wire/record.h"

struct cluster_leading_parts { /* all live until the metastore is closed */
    struct cluster_marker *marker;
    const struct cluster_map_nodes *nodes;
    const struct cluster_detector *detector;
    struct cluster_record_session record; /* the own session's */
    uint32_t node;
    uint64_t session;
    bool claims; /* it may lead: it reaches the metastore by itself */
};

struct cluster_leading {
    struct cluster_leading_parts parts;
    struct cluster_lead lead;
    bool begun;
};

/* Begins with the record as it was read, when all nodes and sessions are known. */
void cluster_leading_begin(struct cluster_leading *self, const struct cluster_leading_parts *parts,
                           const struct cluster_lead_record *record);

/* Takes the record as the watch has it, also before it has begun. */
void cluster_leading_take(struct cluster_leading *self, const struct cluster_pair *pair);

/* Looks at the session of the node that leads, and does what is due. Returns when it is to be
 * called again at the latest, or HUB_NEVER. */
uint64_t cluster_leading_step(struct cluster_leading *self, uint64_t now_ns);

#endif
