/* SPDX-License-Identifier: Apache-2.0 */
/* archive_work: workers that store files through the two plugins and read them back. */
#ifndef ARCHIVE_WORK_H
#define ARCHIVE_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "archive_calls.h"
#include "archive_files.h"

#define ARCHIVE_WORKERS_MAX 64
#define ARCHIVE_PACKED_MAX  (96u << 10) /* bytes that always hold a compressed piece */

/* Shared by the threads of a run. Workers and the killer write the counters, and all read them. */
struct archive_run {
    struct archive_way way;
    struct rapahub_container_id kv, codec;
    struct rapahub_container_id
        tally; /* counts the pieces that were stored; pool 0: nothing does */
    struct archive_files files;
    atomic_uint_fast64_t deadline_ns; /* brought forward by an interrupt */
    unsigned workers;
    atomic_size_t next;           /* file to process */
    atomic_size_t done;           /* files of this phase */
    atomic_uint_fast64_t plain;   /* bytes stored */
    atomic_uint_fast64_t packed;  /* the same, compressed */
    atomic_uint_fast64_t skipped; /* files that could not be read */
    atomic_uint_fast64_t lost;    /* pieces that did not come back */
    atomic_uint_fast64_t wrong;   /* pieces that came back different */
    atomic_uint_fast64_t failed;  /* calls that failed for good */
    atomic_uint_fast64_t counted; /* calls of the tally that were answered */
    atomic_uint kills;
    atomic_uint_fast64_t answered_ns; /* when the last call was answered */
};

struct archive_worker {
    struct archive_run *run;
    struct archive_calls calls;
    pthread_t thread;
    uint8_t *packed; /* a piece, between two calls */
};

/* Thread functions: process files until there are none. */
void *archive_work_store(void *worker);
void *archive_work_check(void *worker);

#endif
