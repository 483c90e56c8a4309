/* SPDX-License-Identifier: Apache-2.0 */
/* copy_keeper: keeps copies of containers of other nodes, and gives them back. A copy is kept only
 * from the owner that the entry has in this node's map, in the epoch that it has there, and only
 * where the record of holders has this node. All else ends the link, or is refused. Bounded in
 * number and bytes. Owner.
 */
#ifndef CLUSTER_NODE_HOLDERS_COPY_KEEPER_H
#define CLUSTER_NODE_HOLDERS_COPY_KEEPER_H

#include "cluster/core/core.h"
#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/peers/peer_links.h"

#define CLUSTER_COPY_KEEPER_OPEN_MAX  128                   /* requests to the disk of one node */
#define CLUSTER_COPY_KEEPER_BYTES_MAX (UINT64_C(512) << 20) /* copies that are not whole yet */
#define CLUSTER_COPY_KEEPER_STALL_NS                             \
    (UINT64_C(60) * 1000000000) /* then such a copy is forgotten \
                                 */

struct cluster_copy_keeper;

/* All live longer; the thread of the disk ends before the release. -ENOMEM. */
int cluster_copy_keeper_create(const struct cluster_core *core, struct cluster_peer_links *links,
                               struct cluster_store_thread *disk, struct cluster_copy_keeper **out);
void cluster_copy_keeper_release(struct cluster_copy_keeper **keeper);

/* Take the bodies of frames, which were read, of a node whose link is up. RAPAHUB_EPROTOCOL: it
 * does what it must not. */
int cluster_copy_keeper_put(struct cluster_copy_keeper *keeper, uint32_t from,
                            const struct cluster_body_copy_put *put);
int cluster_copy_keeper_seal(struct cluster_copy_keeper *keeper, uint32_t from,
                             const struct cluster_body_copy_seal *seal);
int cluster_copy_keeper_ask(struct cluster_copy_keeper *keeper, uint32_t from,
                            const struct cluster_body_copy_ask *ask);

/* Forgets copies that do not go on. Returns when it is to be called again at the latest, or
 * HUB_NEVER. */
uint64_t cluster_copy_keeper_step(struct cluster_copy_keeper *keeper, uint64_t now_ns);

#endif
