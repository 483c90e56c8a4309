/* SPDX-License-Identifier: Apache-2.0 */
/* guest_records: the file `guests` of a data folder: the guests that a node has, so that its next
 * life can prove each of them dead before it begins a container anew. A guest is in the file,
 * durably, before its first container begins. The bytes of the file are foreign.
 */
#ifndef CLUSTER_NODE_DISK_GUEST_RECORDS_H
#define CLUSTER_NODE_DISK_GUEST_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/node/disk/machine.h"
#include "cluster/store/files.h"

#define CLUSTER_GUEST_RECORDS_MAX 1024

struct cluster_guest_record {
    pid_t pid;
    uint64_t start; /* cluster_machine_start_of */
};

struct cluster_guest_records {
    const struct cluster_files_folder *folder; /* the caller's */
    uint8_t boot[CLUSTER_MACHINE_ID];          /* the machine's, now */
    size_t count;
    struct cluster_guest_record of[CLUSTER_GUEST_RECORDS_MAX];
};

/* Begins an empty list; the file stays as it is until the list is written. */
void cluster_guest_records_init(struct cluster_guest_records *records,
                                const struct cluster_files_folder *folder,
                                const uint8_t boot[CLUSTER_MACHINE_ID]);

/* Add and remove a guest, in memory. RAPAHUB_EFULL: there are too many. -EINVAL: no process of a
 * guest can have this number. One that is not there is none to remove. */
int cluster_guest_records_add(struct cluster_guest_records *records,
                              struct cluster_guest_record guest);
void cluster_guest_records_remove(struct cluster_guest_records *records,
                                  struct cluster_guest_record guest);

/* Writes the list: when this returns 0 it is durable. After a failure the file has this list or the
 * one before. Waits for the disk. */
int cluster_guest_records_write(const struct cluster_guest_records *records);

/* Reads the guests of this boot of the machine from the file, and changes nothing. Fails as below.
 */
int cluster_guest_records_read(struct cluster_guest_records *records);

/* Ends the guests that the file names, with proof, and then empties it. A guest of another boot of
 * the machine is dead, and a number that another process has by now is left alone: none is
 * killed for these. *killed: how many were. -ETIMEDOUT: one did not end by the deadline; -EPERM
 * and others: one cannot be ended; RAPAHUB_EFORMAT: the file is damaged; RAPAHUB_EABI: a later
 * release wrote it. Then the file is left as it is. */
int cluster_guest_records_end_all(struct cluster_guest_records *records, uint64_t deadline_ns,
                                  size_t *killed);

#endif
