/* SPDX-License-Identifier: Apache-2.0 */
/* store_place: where the metastore of a data folder is. `node.seat` is a line with the address of
 * the node that has it, where this node has joined a cluster of a seat; `node.metastore` is a line
 * with its URL, where it is in etcd; with neither it is in the folder. People may change either
 * line when the metastore has other addresses. Waits for the disk.
 */
#ifndef CLUSTER_NODE_DISK_STORE_PLACE_H
#define CLUSTER_NODE_DISK_STORE_PLACE_H

#include <stdbool.h>

#include "cluster/store/files.h"

#define CLUSTER_STORE_PLACE_META    "meta.db"
#define CLUSTER_STORE_PLACE_SEAT    "node.seat"
#define CLUSTER_STORE_PLACE_URL     "node.metastore"
#define CLUSTER_STORE_PLACE_URL_NEW "node.metastore.new" /* while it is written */

struct cluster_store_place {
    char *url;   /* "sqlite:PATH/meta.db", "seat:HOST:PORT", or as in node.metastore */
    bool joined; /* it is on another node */
    bool apart;  /* it is not in the folder */
};

/* RAPAHUB_EFORMAT: a line is empty; others are of the disk. To be released after a failure, too. */
int cluster_store_place_read(const struct cluster_files_folder *root,
                             struct cluster_store_place *out);
void cluster_store_place_release(struct cluster_store_place *place);

/* Makes the folder, durably, one whose metastore is at `url`, "SCHEME:...": other addresses of the
 * same one, unless `fresh`: the folder has seen no metastore yet. RAPAHUB_ECONFIG: it has another
 * one. */
int cluster_store_place_change(const struct cluster_files_folder *root, const char *url, bool fresh,
                               struct cluster_store_place *place);

/* Writes the line of a node that joins: of a metastore at "seat:HOST:PORT", or at a URL of etcd. A
 * line of the other kind, which a join has left that was not finished, goes. RAPAHUB_EINVAL: the
 * address is too long. */
int cluster_store_place_join(const struct cluster_files_folder *root, const char *url);

#endif
