/* SPDX-License-Identifier: Apache-2.0 */
/* lists: a node as people see it: its pools, containers and operations, as JSON documents. A
 * number that is no count, an id, a token or a revision, is a text: readers of JSON round such
 * numbers. Owner.
 */
#ifndef CLUSTER_NODE_SERVICES_LISTS_H
#define CLUSTER_NODE_SERVICES_LISTS_H

#include <stdint.h>

#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "cluster/metastore/metastore.h"
#include "cluster/node/base/client_counts.h"
#include "cluster/node/base/leader.h"
#include "cluster/node/base/pool_records.h"
#include "cluster/node/detection/detector.h"
#include "cluster/node/holders/copy_links.h"
#include "cluster/node/identity/node_identity.h"
#include "cluster/node/peers/peer_links.h"

struct cluster_lists { /* their sources; all live longer */
    const struct cluster_core *core;
    const struct cluster_pool_records *pools;
    const struct cluster_metastore *store;
    const char *name; /* the node's */
    uint32_t node, boot;
    uint64_t session;
    const char *metastore; /* its URL */
    const struct cluster_leader *leader;
    const struct cluster_client_counts *clients; /* NULL: there are none yet, or none any more */
    const struct cluster_node_identity *identity;
    struct cluster_peer_links *peers;
    const struct cluster_copy_links *copies;
    const struct cluster_detector *detector;
};

/* Each returns a text to be freed; NULL with a diagnosis: RAPAHUB_ENOPOOL, RAPAHUB_ENOENT: there is
 * no such thing; -ENOTSUP: the program was built without jansson. */
char *cluster_lists_status(const struct cluster_lists *lists);
char *cluster_lists_pools(const struct cluster_lists *lists);
char *cluster_lists_pool(const struct cluster_lists *lists, struct rapahub_string name);
char *cluster_lists_operations(const struct cluster_lists *lists);
char *cluster_lists_operation(const struct cluster_lists *lists, uint64_t number);
char *cluster_lists_modules(const struct cluster_pair *pairs, size_t count);

/* Finds the number of the pool with a name: RAPAHUB_ENOPOOL. */
int cluster_lists_pool_id(const struct cluster_lists *lists, struct rapahub_string name,
                          uint64_t *out);

/* Says whether a pool has this module. */
bool cluster_lists_uses_module(const struct cluster_lists *lists, struct rapahub_string name,
                               struct rapahub_string version);

#endif
