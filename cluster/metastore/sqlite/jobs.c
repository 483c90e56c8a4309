/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/jobs.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/txn_copy.h"

static struct cluster_job *make(enum cluster_job_kind kind, size_t more)
{
    struct cluster_job *job = calloc(1, sizeof *job + more);

    if (!job) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "an operation of the metastore: out of memory");
        return NULL;
    }
    job->kind = kind;
    hub_list_init(&job->link);
    hub_list_init(&job->reader_link);
    return job;
}

/* Moves the bytes to `*at`, which goes on. */
static void carve(struct rapahub_bytes *bytes, uint8_t **at)
{
    if (bytes->size > 0)
        memcpy(*at, bytes->data, bytes->size);
    bytes->data = *at;
    *at += bytes->size;
}

struct cluster_job *cluster_jobs_txn(const struct cluster_txn *txn)
{
    struct cluster_job *job = make(CLUSTER_JOB_TXN, 0);

    if (job)
        job->txn = cluster_txn_copy(txn);
    if (!job || job->txn)
        return job;
    free(job);
    return NULL;
}

struct cluster_job *cluster_jobs_span(enum cluster_job_kind kind, const struct cluster_span *span)
{
    struct cluster_job *job = make(kind, span->from.size + span->to.size);
    uint8_t *at;

    if (!job)
        return NULL;
    at = (uint8_t *)(job + 1);
    job->span = *span;
    carve(&job->span.from, &at);
    carve(&job->span.to, &at);
    return job;
}

struct cluster_job *cluster_jobs_new(enum cluster_job_kind kind, const char *path)
{
    size_t size = path ? strlen(path) + 1 : 0;
    struct cluster_job *job = make(kind, size);

    if (job && path) {
        memcpy(job + 1, path, size);
        job->path = (const char *)(job + 1);
    }
    return job;
}

/* A callback for each revision; then the end of the watch, or that all up to `rev` was told. */
static void tell_changes(const struct cluster_job *job)
{
    const struct cluster_results *results = &job->results;
    size_t end;

    for (size_t i = 0; i < results->changes_count; i = end) {
        for (end = i; end < results->changes_count && results->revs[end] == results->revs[i];)
            end++;
        if (hub_load_relaxed(&job->gone) == 0)
            job->on_change(job->user, CLUSTER_TXN_OK, results->revs[i], &results->changes[i],
                           end - i);
    }
    if ((job->status != CLUSTER_TXN_OK || job->more) && hub_load_relaxed(&job->gone) == 0)
        job->on_change(job->user, job->status, job->rev, NULL, 0);
}

void cluster_jobs_tell(const struct cluster_job *job)
{
    const struct cluster_results *results = &job->results;

    switch (job->kind) {
    case CLUSTER_JOB_RANGE:
        job->on_range(job->user, job->status, job->rev,
                      &(struct cluster_page){results->pairs, results->pairs_count, job->more});
        break;
    case CLUSTER_JOB_PEEK:
        job->on_stale(job->user, job->status, results->pairs, results->pairs_count);
        break;
    case CLUSTER_JOB_WATCH:
        tell_changes(job);
        break;
    default:
        job->on_txn(job->user, job->status, job->rev, results->pairs, results->pairs_count);
    }
}

void cluster_jobs_free(struct cluster_job *job)
{
    cluster_results_clear(&job->results);
    free(job->txn);
    free(job);
}
