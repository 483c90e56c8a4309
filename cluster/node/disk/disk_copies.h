/* SPDX-License-Identifier: Apache-2.0 */
/* disk_copies: the files of containers' copies that the thread of the disk has open. A file stays
 * open, because opening it reads all of it; the one that was used longest ago is closed for
 * another. The thread's own.
 */
#ifndef CLUSTER_NODE_DISK_DISK_COPIES_H
#define CLUSTER_NODE_DISK_DISK_COPIES_H

#include "cluster/node/disk/disk_job.h"

#define CLUSTER_DISK_COPIES_OPEN_MAX 1024

struct cluster_disk_copies_open {
    const struct cluster_files_folder *folder;
    struct hub_list files; /* the one that was used last is the last */
    size_t count;
};

void cluster_disk_copies_begin(struct cluster_disk_copies_open *copies,
                               const struct cluster_files_folder *folder);
void cluster_disk_copies_end(struct cluster_disk_copies_open *copies);

/* Carry out a job, and return its status. */
int cluster_disk_copies_write(struct cluster_disk_copies_open *copies,
                              struct cluster_disk_job *job);
int cluster_disk_copies_read(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job);
int cluster_disk_copies_remove(struct cluster_disk_copies_open *copies,
                               struct cluster_disk_job *job);
int cluster_disk_copies_seal(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job);
int cluster_disk_copies_piece(struct cluster_disk_copies_open *copies,
                              struct cluster_disk_job *job);
int cluster_disk_copies_adopt(struct cluster_disk_copies_open *copies,
                              struct cluster_disk_job *job);

#endif
