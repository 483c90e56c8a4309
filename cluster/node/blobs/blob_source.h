/* SPDX-License-Identifier: Apache-2.0 */
/* blob_source: gives other nodes the files of modules that this node has, a part at a time: a node
 * asks for the next part when it has the one before. So no more than one part of each node is under
 * way, and calls on the same link wait for no more than that. Owner.
 */
#ifndef CLUSTER_NODE_BLOBS_BLOB_SOURCE_H
#define CLUSTER_NODE_BLOBS_BLOB_SOURCE_H

#include "cluster/node/disk/store_thread.h"
#include "cluster/node/peers/peer_links.h"

struct cluster_blob_source;

struct cluster_blob_source_node {
    struct cluster_blob_source *source;
    uint32_t node; /* 0: none, or its link is lost */
    bool reading;  /* the disk has a request of it */
};

struct cluster_blob_source {
    struct cluster_peer_links *links;
    struct cluster_store_thread *disk;
    struct cluster_blob_source_node nodes[2 * CLUSTER_PEER_LINKS_MAX]; /* also of lost links */
};

/* Both live longer; the thread of the disk ends first. */
void cluster_blob_source_init(struct cluster_blob_source *source, struct cluster_peer_links *links,
                              struct cluster_store_thread *disk);

/* The links tell this. A BLOB_ASK that is not sound, or comes before the answer to the last one, is
 * RAPAHUB_EPROTOCOL. */
void cluster_blob_source_up(struct cluster_blob_source *source, uint32_t node);
void cluster_blob_source_lost(struct cluster_blob_source *source, uint32_t node);
int cluster_blob_source_ask(struct cluster_blob_source *source, uint32_t node,
                            const struct cluster_body_blob_ask *ask);

#endif
