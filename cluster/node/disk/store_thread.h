/* SPDX-License-Identifier: Apache-2.0 */
/* store_thread: the thread that waits for the disk of a node, so that its owner never does. The
 * owner hands in requests; each that was taken ends once, by its callback in
 * cluster_store_thread_step, or in cluster_store_thread_stop. Requests of the log run in order, and
 * so do those of one container's copies, and those of guests.
 *
 * All functions are for the owner alone. A negative return value means that a request was refused
 * at once, with a diagnosis: RAPAHUB_EBUSY, too many requests or bytes are open. Then bytes that
 * were handed in are still the caller's; else they are the thread's, which frees them with free().
 */
#ifndef CLUSTER_NODE_DISK_STORE_THREAD_H
#define CLUSTER_NODE_DISK_STORE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/node/disk/data_folder.h"
#include "cluster/node/disk/disk_job.h"
#include "cluster/node/disk/disk_worker.h"
#include "cluster/node/disk/guest_records.h"
#include "cluster/store/copy_file.h"
#include "cluster/store/digest.h"
#include "cluster/store/wal.h"

#define CLUSTER_STORE_THREAD_OPEN_MAX 4096 /* requests of the log, and as many others */
#define CLUSTER_STORE_THREAD_BYTES_MAX \
    ((uint64_t)512 << 20) /* of each; a single one may be larger */

struct cluster_store_thread;

/* Starts the thread. The log's segments of the options are the caller's while it runs. */
int cluster_store_thread_start(const struct cluster_store_thread_options *options,
                               struct cluster_store_thread **out);

/* Ends it, and calls the callback of each request that is open. `drain`: all requests are carried
 * out first, but by the deadline; the others end with -ECANCELED. A request of which some was done
 * when the thread ended may have been done. NULL is ignored. Waits for the disk: no longer than the
 * request that is under way. */
void cluster_store_thread_stop(struct cluster_store_thread *thread, bool drain,
                               uint64_t deadline_ns);

/* Readable when cluster_store_thread_step has something to do. */
int cluster_store_thread_fd(const struct cluster_store_thread *thread);

/* Calls the callbacks of what has ended. Fails once the log has ended after an error of the disk:
 * the node must stop serving. Never waits. */
int cluster_store_thread_step(struct cluster_store_thread *thread);

struct cluster_store_thread_stats {
    uint64_t open, bytes; /* requests, and bytes of them */
    bool full;            /* records of the log wait for space on the disk */
    uint64_t synced;      /* the log's revision */
};
void cluster_store_thread_stats(struct cluster_store_thread *thread,
                                struct cluster_store_thread_stats *out);

/* How a request ends: by this callback. */
struct cluster_disk_request {
    cluster_disk_on_done *on_done;
    void *user;
};

/* Hands in a request that was made by cluster_disk_job_new; refused, it is still the caller's. */
int cluster_store_thread_give(struct cluster_store_thread *thread, struct cluster_disk_job *job,
                              struct cluster_disk_request request);

/* Appends a delta to the log; it has ended when it is durable. Where the disk is full it waits
 * until there is space. `changes` are copied. */
int cluster_store_thread_append(struct cluster_store_thread *thread,
                                const struct cluster_wal_record *record,
                                const struct cluster_delta_change *changes,
                                cluster_disk_on_done *on_done, void *user);

/* Writes a snapshot: all entries at a revision up to which the log is durable, in memory that is
 * taken. */
int cluster_store_thread_snapshot(struct cluster_store_thread *thread,
                                  const struct cluster_disk_entries *entries,
                                  cluster_disk_on_done *on_done, void *user);

/* Notes a revision that the metastore has, so that an older one is refused at the next start.
 * Deltas are in the log, and need it not. */
int cluster_store_thread_seen(struct cluster_store_thread *thread, uint64_t revision,
                              cluster_disk_on_done *on_done, void *user);

/* A guest is noted in the file of guests, or is dead, with proof. */
int cluster_store_thread_guest_came(struct cluster_store_thread *thread,
                                    struct cluster_guest_record guest,
                                    cluster_disk_on_done *on_done, void *user);
int cluster_store_thread_guest_gone(struct cluster_store_thread *thread,
                                    struct cluster_guest_record guest,
                                    cluster_disk_on_done *on_done, void *user);

/* Reads the newest copy: a whole state and its changes; none: there is none. */
int cluster_store_thread_copy_read(struct cluster_store_thread *thread,
                                   struct cluster_disk_container of, cluster_disk_on_done *on_done,
                                   void *user);
int cluster_store_thread_copy_remove(struct cluster_store_thread *thread,
                                     struct cluster_disk_container of,
                                     cluster_disk_on_done *on_done, void *user);

/* Make a container's folder, and put it aside. */
int cluster_store_thread_folder_make(struct cluster_store_thread *thread,
                                     struct cluster_disk_container of,
                                     cluster_disk_on_done *on_done, void *user);
int cluster_store_thread_folder_aside(struct cluster_store_thread *thread,
                                      struct cluster_disk_container of,
                                      cluster_disk_on_done *on_done, void *user);

/* Replaces the node's certificate by this text, which is copied. */
int cluster_store_thread_certify(struct cluster_store_thread *thread, struct rapahub_bytes pem,
                                 cluster_disk_on_done *on_done, void *user);

/* A part of a blob of `size` bytes, from `offset` on. At offset 0 a push begins, anew too; the next
 * parts follow each other. RAPAHUB_EINVAL: this one does not. RAPAHUB_EFORMAT: the bytes are not
 * those of the digest. `part` is copied. */
int cluster_store_thread_blob_part(struct cluster_store_thread *thread,
                                   const struct cluster_disk_part *part,
                                   cluster_disk_on_done *on_done, void *user);

/* Reads a part of a blob as it is on the disk: from `offset` on, as many bytes as `part` has, whose
 * data is NULL, or fewer at its end. RAPAHUB_ENOENT: there is no such blob. RAPAHUB_EINVAL: it ends
 * before the offset. */
int cluster_store_thread_blob_read(struct cluster_store_thread *thread,
                                   const struct cluster_disk_part *part,
                                   cluster_disk_on_done *on_done, void *user);

/* Gets a blob. RAPAHUB_ENOENT: there is none. RAPAHUB_EFORMAT: its bytes are others. */
int cluster_store_thread_blob_get(struct cluster_store_thread *thread,
                                  const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                  cluster_disk_on_done *on_done, void *user);
int cluster_store_thread_blob_remove(struct cluster_store_thread *thread,
                                     const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                     cluster_disk_on_done *on_done, void *user);

#endif
