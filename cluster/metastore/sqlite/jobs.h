/* SPDX-License-Identifier: Apache-2.0 */
/* jobs: operations on the store, as they go from the owner to the thread of the writer and back.
 * Either has a job, never both. */
#ifndef CLUSTER_METASTORE_SQLITE_JOBS_H
#define CLUSTER_METASTORE_SQLITE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/sqlite/results.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"

enum cluster_job_kind {
    CLUSTER_JOB_TXN,
    CLUSTER_JOB_RANGE,
    CLUSTER_JOB_PEEK,
    CLUSTER_JOB_WATCH,
    CLUSTER_JOB_SYNC,
    CLUSTER_JOB_COMPACT,
    CLUSTER_JOB_BACKUP
};

struct cluster_job {
    struct hub_list link; /* in a list of who has it */
    enum cluster_job_kind kind;
    struct cluster_txn *txn;  /* TXN */
    struct cluster_span span; /* RANGE, PEEK, WATCH; of a watch: `rev` was looked through */
    uint64_t before;          /* COMPACT */
    const char *path;         /* BACKUP */

    int status; /* its end */
    bool more;
    uint64_t rev;
    struct cluster_results results;

    cluster_on_txn *on_txn; /* its kind says which of these it has */
    cluster_on_range *on_range;
    cluster_on_stale *on_stale;
    cluster_on_change *on_change;
    void *user;

    struct hub_list reader_link; /* RANGE, WATCH: in the owner's list of all */
    uint64_t needs;              /* the first revision that such a job still reads; the owner's */
    uint64_t watch;
    struct hub_a32 gone; /* WATCH: it was unwatched; written by the owner, read by both */
};

/* Make a job with copies of what it is about; the caller fills in the callback. NULL without
 * memory, with a diagnosis. */
struct cluster_job *cluster_jobs_txn(const struct cluster_txn *txn);
struct cluster_job *cluster_jobs_span(enum cluster_job_kind kind, const struct cluster_span *span);
struct cluster_job *cluster_jobs_new(enum cluster_job_kind kind, const char *path);

/* Calls the callback of a job that has ended. */
void cluster_jobs_tell(const struct cluster_job *job);

void cluster_jobs_free(struct cluster_job *job);

#endif
