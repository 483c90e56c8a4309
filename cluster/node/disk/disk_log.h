/* SPDX-License-Identifier: Apache-2.0 */
/* disk_log: the log of the map, as the thread of the disk keeps it: records that came together are
 * made durable together, and where the disk is full they wait. The thread's own.
 */
#ifndef CLUSTER_NODE_DISK_DISK_LOG_H
#define CLUSTER_NODE_DISK_DISK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/node/disk/disk_job.h"
#include "cluster/store/wal.h"

struct cluster_disk_log {
    struct cluster_wal wal;
    struct hub_list waiting; /* jobs, in their order */
    uint64_t due_ns;         /* when a full disk is tried again; 0: it is not full */
};

int cluster_disk_log_begin(struct cluster_disk_log *log, const struct cluster_wal_options *options);

/* Drops the records that are not durable; jobs that wait stay in the list. */
void cluster_disk_log_end(struct cluster_disk_log *log);

/* Carries out the jobs that wait, and moves those that have ended to `ended`. */
void cluster_disk_log_run(struct cluster_disk_log *log, uint64_t now_ns, struct hub_list *ended);

#endif
