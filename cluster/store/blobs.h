/* SPDX-License-Identifier: Apache-2.0 */
/* blobs: files of modules, each named by the SHA-256 of its bytes: sha256/ab/abcd... in the folder
 * of the blobs. A name has the bytes that it says, or is not there: they are written under another
 * name, and get theirs after they were hashed and are durable. A blob is never written again.
 *
 * A reader that must not be deceived by who can write the folder hashes what it loads. All of it
 * waits for the disk: one thread.
 */
#ifndef CLUSTER_STORE_BLOBS_H
#define CLUSTER_STORE_BLOBS_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/digest.h"
#include "cluster/store/files.h"

#define CLUSTER_BLOBS_SIZE_MAX ((uint64_t)1 << 30)

struct cluster_blobs {
    struct cluster_files_folder folder; /* sha256 */
    uint64_t pushes;                    /* that were begun */
};

struct cluster_blobs_push { /* a blob that is being written */
    struct cluster_blobs *blobs;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    uint64_t size, done;
    struct cluster_digest hash;
    int fd; /* -1: it has ended */
    char name[CLUSTER_FILES_NAME_MAX];
};

/* Opens the blobs of a folder, makes it one of blobs where it is empty, and removes what pushes
 * that were cut short have left. */
int cluster_blobs_open(struct cluster_blobs *blobs, const struct cluster_files_folder *folder);
void cluster_blobs_close(struct cluster_blobs *blobs); /* no push is open */

/* Begins to write a blob of `size` bytes. Returns 0, or 1 if it is there already: then there is
 * nothing to write, and no push. RAPAHUB_EINVAL: no bytes. RAPAHUB_EFBIG: too many. */
int cluster_blobs_begin(struct cluster_blobs *blobs, const uint8_t digest[CLUSTER_DIGEST_SIZE],
                        uint64_t size, struct cluster_blobs_push *push);

/* Adds the next bytes. RAPAHUB_EFBIG: more than were announced. After a failure the push can only
 * be abandoned. */
int cluster_blobs_add(struct cluster_blobs_push *push, const void *data, size_t size);

/* Ends the push: when this returns 0 the blob is there, durably. RAPAHUB_EFORMAT: its bytes are not
 * those that its name says, or fewer than were announced. After a failure there is no trace. */
int cluster_blobs_finish(struct cluster_blobs_push *push);
void cluster_blobs_abandon(struct cluster_blobs_push *push);

/* Returns a descriptor of the table of files, to be read and closed by the caller. RAPAHUB_ENOENT:
 * there is none. */
int cluster_blobs_get(const struct cluster_blobs *blobs, const uint8_t digest[CLUSTER_DIGEST_SIZE]);

/* Removes a blob; one that is not there is none to remove. Its readers keep it. */
int cluster_blobs_remove(const struct cluster_blobs *blobs,
                         const uint8_t digest[CLUSTER_DIGEST_SIZE]);

/* Removes each blob whose digest is not one of `count` in `kept`, which lie one after the other,
 * and leaves files with other names. After a failure some may be left. */
int cluster_blobs_remove_others(const struct cluster_blobs *blobs, const uint8_t *kept,
                                size_t count);

#endif
