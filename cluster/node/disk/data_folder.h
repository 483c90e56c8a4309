/* SPDX-License-Identifier: Apache-2.0 */
/* data_folder: the folder in which a node keeps all that it must not lose. It has `node.id` (uuid
 * and number of the node), `node.boot` (how often it was started), `node.store` (the metastore that
 * it belongs to), `node.seat` or `node.metastore` (where that is, if it is not in the folder),
 * `lock`, `guests`, `meta.db`, and the folders `wal`, `copies`, `blobs`, `pools`, `restart` and
 * `backups`.
 *
 * An empty folder is set up, and one that was set up in part is finished: each step is durable
 * before the next one. A folder that has anything else is refused, and left as it is. All of it
 * waits for the disk, on one thread.
 */
#ifndef CLUSTER_NODE_DISK_DATA_FOLDER_H
#define CLUSTER_NODE_DISK_DATA_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/node/disk/store_place.h"
#include "cluster/store/files.h"

#define CLUSTER_DATA_FOLDER_UUID  16
#define CLUSTER_DATA_FOLDER_CA    "ca"   /* folder of the authority, where the node has it */
#define CLUSTER_DATA_FOLDER_TLS   "tls"  /* folder of the node's certificate, where it has one */
#define CLUSTER_DATA_FOLDER_ETCD  "etcd" /* folder of its certificate for etcd, where it has one */
#define CLUSTER_DATA_FOLDER_OWN   "node.pem" /* the certificate, in that folder */
#define CLUSTER_DATA_FOLDER_FIRST 1          /* number of a node that is set up alone */

struct cluster_data_folder_options {
    const struct cluster_files *files; /* NULL: the system's */
    const char *path;                  /* made if its parent is there */
    int lock_fd;                       /* see cluster_folder_lock_take; -1: none */
    const char *metastore; /* its URL, if it is not to be in the folder; NULL: as the folder says */
    bool joins; /* an empty folder is not set up, but locked: cluster_data_folder_join does that */
};

/* The metastore that a folder belongs to, and how far it was seen to be. */
struct cluster_data_folder_store {
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID]; /* the cluster's */
    uint64_t revision;                      /* 0: none was seen yet */
};

struct cluster_data_folder {
    struct cluster_files_folder root, wal, copies, blobs, pools, restart, backups;
    uint8_t uuid[CLUSTER_DATA_FOLDER_UUID]; /* the node's */
    uint32_t node;
    uint32_t boot; /* this life's after cluster_data_folder_count_boot, else the last one's */
    struct cluster_data_folder_store store;
    uint64_t device, inode; /* the folder's */
    int lock;
    struct cluster_store_place place;
};

/* Locks the folder, sets it up or finishes that, and reads what it says of itself. RAPAHUB_EBUSY:
 * locked. -EACCES: another user's. RAPAHUB_EFORMAT: it is not a data folder, or damaged.
 * RAPAHUB_EABI: of a later release. RAPAHUB_EEXIST: a node that joins finds the folder of a node.
 * RAPAHUB_ECONFIG: its metastore is another one than that of the options. -EROFS, -ENOSPC and
 * others of the disk. Each names the thing, the place and the remedy. */
int cluster_data_folder_open(struct cluster_data_folder *folder,
                             const struct cluster_data_folder_options *options);

/* How a node is named that has joined a cluster. */
struct cluster_data_folder_joined {
    uint32_t node;
    const uint8_t *uuid; /* the node's own */
    const char *place;   /* of its metastore, see cluster_store_place_join */
};

/* Makes the folder, which was opened by a node that joins, that of this node, of the metastore that
 * `store` has: with its last step, durably. Before that no node has it, and it can be joined with
 * again. To join counts as the first life of the node. */
int cluster_data_folder_join(struct cluster_data_folder *folder,
                             const struct cluster_data_folder_joined *joined);

/* The part of it that needs neither the lock nor the owner: `folder` has its root, and all else is
 * zeros. After a failure, too, it is to be closed. */
int cluster_data_folder_load(struct cluster_data_folder *folder);

/* Gives the lock up, if no other process shares it. Also for a folder that is all zeros. */
void cluster_data_folder_close(struct cluster_data_folder *folder);

/* Raises the number of this life by one, durably. RAPAHUB_EOVERFLOW: there is none left. */
int cluster_data_folder_count_boot(struct cluster_data_folder *folder);

/* Notes, durably, the metastore that the folder belongs to, and a revision of it. */
int cluster_data_folder_note_store(struct cluster_data_folder *folder,
                                   const struct cluster_data_folder_store *store);

/* Writes the same, but does not note it in the struct: for another thread. */
int cluster_data_folder_write_store(const struct cluster_data_folder *folder,
                                    const struct cluster_data_folder_store *store);

#endif
