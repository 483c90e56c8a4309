/* SPDX-License-Identifier: Apache-2.0 */
/* copy_file: what a node keeps of a container's state: one file for each, which begins with a whole
 * state, and has the changes of it after that.
 *
 * A copy is named by token and seq, the newest one is the greatest. A whole state replaces the file
 * by a rename, changes are appended; both are durable before they are told as done. Wherever that
 * is cut short the file is that of before, or has the copy too. A file of which a sync failed takes
 * no more changes: the next copy must be a whole state. All of it waits for the disk: one thread.
 */
#ifndef CLUSTER_STORE_COPY_FILE_H
#define CLUSTER_STORE_COPY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/store/files.h"

struct cluster_copy {
    uint64_t token, seq;
    uint64_t base_token, base_seq;     /* the copy that this one changes; 0, 0: it is a whole one */
    uint32_t module, state_version;    /* which of the pool's modules wrote it */
    struct rapahub_bytes state, dedup; /* the state or its changes; calls that it covers */
};

struct cluster_copy_file {
    const struct cluster_files_folder *folder; /* the caller's, while the file is open */
    char name[CLUSTER_FILES_NAME_MAX];
    uint64_t pool;
    uint32_t container;
    int fd;                  /* -1: there is no copy */
    uint64_t id;             /* random: the copies of one file have the same */
    uint64_t token, seq;     /* the newest copy's; 0, 0: there is none */
    uint64_t whole, changes; /* bytes of the whole state, and of all changes */
    uint64_t end;            /* the file ends there, as far as it is durable */
    bool ended;              /* it takes no changes */
    bool cut;                /* bytes follow its end that are no sound copy */
};

/* Opens the file of a container, and checks all of it. What is left at its end of a copy that had
 * not become durable is none of it from then on, and goes with the next write. Nothing tells it
 * from a copy that was durable and is damaged since: other holders may have that one. Returns 0,
 * also where there is none; 1 if it is damaged elsewhere: then it is put aside, and there is none.
 * RAPAHUB_EFORMAT: it is another container's. RAPAHUB_EABI: a later release wrote it. Then the file
 * is left as it is. */
int cluster_copy_file_open(struct cluster_copy_file *file,
                           const struct cluster_files_folder *folder, uint64_t pool,
                           uint32_t container);

/* Opens, in the same way, the file whose name ends with this, too: see copy_image.h. */
int cluster_copy_file_open_beside(struct cluster_copy_file *file,
                                  const struct cluster_files_folder *folder, uint64_t pool,
                                  uint32_t container, const char *ending);
void cluster_copy_file_close(struct cluster_copy_file *file);

/* Keeps a copy. Returns 0: it is durable, or has been; 1: it changes a copy that is not here, so a
 * whole state is asked for. RAPAHUB_ESTALE: there is a newer one. RAPAHUB_EINVAL: there can be no
 * such copy. -ENOSPC and others of the disk: it is not kept, and the one before is. */
int cluster_copy_file_write(struct cluster_copy_file *file, const struct cluster_copy *copy);

/* Hands out the whole state, then the changes in their order, until `visit` fails. Their bytes are
 * valid until it returns. */
typedef int cluster_copy_file_visit(void *user, const struct cluster_copy *copy);
int cluster_copy_file_read(const struct cluster_copy_file *file, cluster_copy_file_visit *visit,
                           void *user);

/* Removes the file, durably. The copies are gone, and the next one may be of any number. */
int cluster_copy_file_remove(struct cluster_copy_file *file);

/* Tells of each file of a container that is in the folder. */
typedef void cluster_copy_file_found(void *user, uint64_t pool, uint32_t container);
int cluster_copy_file_list(const struct cluster_files_folder *folder,
                           cluster_copy_file_found *found, void *user);

#endif
