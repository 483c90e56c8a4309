/* SPDX-License-Identifier: Apache-2.0 */
/* disk_job: a request to the thread that waits for the disk of a node, and its end. A request has
 * one thread at a time.
 */
#ifndef CLUSTER_NODE_DISK_DISK_JOB_H
#define CLUSTER_NODE_DISK_DISK_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/node/disk/guest_records.h"
#include "cluster/store/copy_file.h"
#include "cluster/store/digest.h"
#include "cluster/wire/wal_record.h"
#include "hub/base/list.h"

#define CLUSTER_DISK_PART_MAX ((size_t)256 << 10) /* bytes of a part of a blob */
#define CLUSTER_DISK_TEXT_MAX 512

/* The copies of a container: a whole state, then its changes, in order. */
struct cluster_disk_copies {
    struct cluster_copy *of; /* `state` and `dedup` of each are from malloc */
    size_t count;
};

/* A part of a blob of `size` bytes, from `offset` on. */
struct cluster_disk_part {
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    uint64_t offset, size;
    struct rapahub_bytes part;
};

/* The end of a request. All of it is good until the callback returns. */
struct cluster_disk_result {
    int status;                     /* 0, or a failure */
    const char *text;               /* says why it failed, else "" */
    bool wants_snapshot;            /* append: a snapshot is due */
    bool whole;                     /* copy: it was not kept, a whole state is wanted */
    bool done;                      /* part of a blob: the blob is there */
    uint64_t size;                  /* blob: of it */
    struct cluster_disk_part asked; /* blob: which part was asked for */
    struct rapahub_bytes part;      /* blob: that was read */
    int fd; /* blob: a sealed memfd with its bytes, whose SHA-256 was checked; -1: none. Who keeps
               it sets this to -1 */
    struct cluster_disk_copies copies; /* read; who keeps them sets this to zeros */
    uint64_t token, seq;               /* seal: of the newest copy, of `size` bytes; 0: none */
    bool cut; /* seal: what followed it is damaged, or had not become durable */
};

typedef void cluster_disk_on_done(void *user, struct cluster_disk_result *result);

struct cluster_disk_container {
    uint64_t pool;
    uint32_t container;
};

/* All entries of a map at one revision. */
struct cluster_disk_entries {
    uint64_t revision;
    struct cluster_delta_change *of; /* from malloc */
    size_t count;
};

enum cluster_disk_job_kind {
    CLUSTER_DISK_APPEND, /* it and the next two are the log's */
    CLUSTER_DISK_SNAPSHOT,
    CLUSTER_DISK_SEEN,
    CLUSTER_DISK_GUEST_CAME,
    CLUSTER_DISK_GUEST_GONE,
    CLUSTER_DISK_COPY_WRITE,
    CLUSTER_DISK_COPY_READ,
    CLUSTER_DISK_COPY_REMOVE,
    CLUSTER_DISK_COPY_SEAL,
    CLUSTER_DISK_COPY_PIECE,
    CLUSTER_DISK_COPY_ADOPT,
    CLUSTER_DISK_FOLDER_MAKE,
    CLUSTER_DISK_FOLDER_ASIDE,
    CLUSTER_DISK_CERTIFICATE,
    CLUSTER_DISK_BLOB_PART,
    CLUSTER_DISK_BLOB_READ,
    CLUSTER_DISK_BLOB_GET,
    CLUSTER_DISK_BLOB_REMOVE
};

struct cluster_disk_job {
    struct hub_list link;
    enum cluster_disk_job_kind kind;
    cluster_disk_on_done *on_done;
    void *user;
    uint64_t bytes;                      /* that it holds */
    bool appended;                       /* append: the log has it in memory */
    struct cluster_wal_record record;    /* append */
    struct cluster_disk_entries entries; /* snapshot: freed with the job */
    uint64_t revision;                   /* seen */
    struct cluster_guest_record guest;
    struct cluster_disk_container of;
    struct cluster_copy copy; /* its bytes are freed with the job */
    bool checks;              /* copy: the SHA-256 of its bytes must be that of `part` */
    uint64_t seal;            /* no copy of a token below it is taken from then on */
    struct cluster_disk_part part;
    struct cluster_disk_result result;
    char text[CLUSTER_DISK_TEXT_MAX];
    size_t room;
    _Alignas(8) uint8_t memory[]; /* changes of an append, bytes of a part or a certificate */
};

/* Makes a job with `room` bytes of memory of its own. NULL: no memory, with a diagnosis. */
struct cluster_disk_job *cluster_disk_job_new(enum cluster_disk_job_kind kind, size_t room);
void cluster_disk_job_free(struct cluster_disk_job *job);

/* Ends it with a status, and with the diagnosis of now if that is a failure. */
void cluster_disk_job_end(struct cluster_disk_job *job, int status);

/* Calls its callback, and frees it. */
void cluster_disk_job_tell(struct cluster_disk_job *job);

void cluster_disk_job_free_copies(struct cluster_disk_copies *copies);

#endif
