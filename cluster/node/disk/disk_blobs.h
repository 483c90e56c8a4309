/* SPDX-License-Identifier: Apache-2.0 */
/* disk_blobs: blobs that come in parts, and blobs that are loaded, on the thread of the disk. The
 * thread's own.
 */
#ifndef CLUSTER_NODE_DISK_DISK_BLOBS_H
#define CLUSTER_NODE_DISK_DISK_BLOBS_H

#include "cluster/node/disk/disk_job.h"
#include "cluster/store/blobs.h"

#define CLUSTER_DISK_BLOBS_PUSHES  8                           /* blobs that come at a time */
#define CLUSTER_DISK_BLOBS_IDLE_NS (UINT64_C(60) * 1000000000) /* after that one makes room */

struct cluster_disk_blobs_push {
    struct cluster_blobs_push push;
    uint64_t used_ns; /* its last part came then; 0: none is pushed */
};

struct cluster_disk_blobs {
    struct cluster_blobs blobs;
    struct cluster_disk_blobs_push pushes[CLUSTER_DISK_BLOBS_PUSHES];
};

int cluster_disk_blobs_begin(struct cluster_disk_blobs *blobs,
                             const struct cluster_files_folder *folder);
void cluster_disk_blobs_end(struct cluster_disk_blobs *blobs); /* all pushes are abandoned */

/* Carry out a job, and return its status. */
int cluster_disk_blobs_part(struct cluster_disk_blobs *blobs, struct cluster_disk_job *job,
                            uint64_t now_ns);
int cluster_disk_blobs_read(const struct cluster_disk_blobs *blobs, struct cluster_disk_job *job);
int cluster_disk_blobs_get(const struct cluster_disk_blobs *blobs, struct cluster_disk_job *job);
int cluster_disk_blobs_remove(const struct cluster_disk_blobs *blobs, struct cluster_disk_job *job);

#endif
