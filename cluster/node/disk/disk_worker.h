/* SPDX-License-Identifier: Apache-2.0 */
/* disk_worker: carries out the requests to the disk, one after another: those of the log first,
 * together, and another one after each. Folders that were put aside are removed when nothing else
 * is to be done. The thread's own.
 */
#ifndef CLUSTER_NODE_DISK_DISK_WORKER_H
#define CLUSTER_NODE_DISK_DISK_WORKER_H

#include "cluster/node/disk/container_folders.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/node/disk/disk_blobs.h"
#include "cluster/node/disk/disk_copies.h"
#include "cluster/node/disk/disk_log.h"

struct cluster_store_thread_options {         /* zero: the default given */
    const struct cluster_data_folder *folder; /* the caller's, while the thread runs; required */
    const struct cluster_wal_options *log;    /* required; its segments are the caller's, too */
    const uint8_t *machine_boot;              /* struct cluster_machine has it; required; copied */
    uint64_t (*wall_s)(void);                 /* seconds since 1970; the clock's */
};

struct cluster_disk_worker {
    const struct cluster_data_folder *folder;
    uint64_t (*wall_s)(void);
    struct cluster_disk_log log;
    struct cluster_disk_copies_open copies;
    struct cluster_disk_blobs blobs;
    struct cluster_guest_records guests;
    struct cluster_container_folders folders;
    uint64_t seen;          /* highest revision of the metastore that is noted */
    struct hub_list others; /* requests that are not of the log, in their order */
    uint64_t sweep_ns;      /* when the folders that were put aside are looked at again */
};

int cluster_disk_worker_begin(struct cluster_disk_worker *worker,
                              const struct cluster_store_thread_options *options);
void cluster_disk_worker_end(struct cluster_disk_worker *worker);

void cluster_disk_worker_take(struct cluster_disk_worker *worker, struct hub_list *jobs);
bool cluster_disk_worker_is_busy(const struct cluster_disk_worker *worker);

/* Carries out some of the requests, and moves those that have ended to `ended`. Returns when it is
 * to be called again, 0: at once. */
uint64_t cluster_disk_worker_run(struct cluster_disk_worker *worker, uint64_t now_ns,
                                 struct hub_list *ended);

/* Ends all requests that it has with -ECANCELED. */
void cluster_disk_worker_cancel(struct cluster_disk_worker *worker, struct hub_list *ended);

#endif
