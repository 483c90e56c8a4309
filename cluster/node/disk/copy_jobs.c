/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/copy_jobs.h"

#include <string.h>

#include <rapahub/error.h>

static int give(struct cluster_store_thread *thread, struct cluster_disk_job *job,
                struct cluster_disk_request request)
{
    int status = cluster_store_thread_give(thread, job, request);

    if (status < 0) {
        job->copy = (struct cluster_copy){.token = 0}; /* its bytes are still the caller's */
        cluster_disk_job_free(job);
    }
    return status;
}

static struct cluster_disk_job *make(enum cluster_disk_job_kind kind,
                                     struct cluster_disk_container of, size_t room)
{
    struct cluster_disk_job *job = cluster_disk_job_new(kind, room);

    if (job)
        job->of = of;
    return job;
}

int cluster_copy_jobs_write(struct cluster_store_thread *thread, struct cluster_disk_container of,
                            const struct cluster_copy *copy, cluster_disk_on_done *on_done,
                            void *user)
{
    struct cluster_disk_job *job = make(CLUSTER_DISK_COPY_WRITE, of, 0);

    if (!job)
        return RAPAHUB_ENOMEM;
    job->copy = *copy;
    job->bytes = copy->state.size + copy->dedup.size;
    return give(thread, job, (struct cluster_disk_request){on_done, user});
}

int cluster_copy_jobs_keep(struct cluster_store_thread *thread, struct cluster_disk_container of,
                           const struct cluster_copy *copy,
                           const uint8_t digest[CLUSTER_DIGEST_SIZE],
                           struct cluster_disk_request request)
{
    struct cluster_disk_job *job = make(CLUSTER_DISK_COPY_WRITE, of, 0);

    if (!job)
        return RAPAHUB_ENOMEM;
    job->copy = *copy;
    job->bytes = copy->state.size + copy->dedup.size;
    job->checks = true;
    memcpy(job->part.digest, digest, sizeof job->part.digest);
    return give(thread, job, request);
}

int cluster_copy_jobs_seal(struct cluster_store_thread *thread, struct cluster_disk_container of,
                           uint64_t token, struct cluster_disk_request request)
{
    struct cluster_disk_job *job = make(CLUSTER_DISK_COPY_SEAL, of, 0);

    if (!job)
        return RAPAHUB_ENOMEM;
    job->seal = token;
    return give(thread, job, request);
}

static void describe(struct cluster_disk_job *job, const struct cluster_copy_jobs_piece *piece)
{
    job->copy.token = piece->token;
    job->copy.seq = piece->seq;
    job->part.offset = piece->offset;
    job->part.size = piece->size;
    job->part.part = (struct rapahub_bytes){job->memory, job->room};
    job->result.asked = job->part;
}

int cluster_copy_jobs_read(struct cluster_store_thread *thread,
                           const struct cluster_copy_jobs_piece *piece,
                           struct cluster_disk_request request)
{
    struct cluster_disk_job *job = make(CLUSTER_DISK_COPY_PIECE, piece->of, piece->size);

    if (!job)
        return RAPAHUB_ENOMEM;
    describe(job, piece);
    return give(thread, job, request);
}

int cluster_copy_jobs_adopt(struct cluster_store_thread *thread,
                            const struct cluster_copy_jobs_piece *piece, struct rapahub_bytes bytes,
                            struct cluster_disk_request request)
{
    struct cluster_disk_job *job = make(CLUSTER_DISK_COPY_ADOPT, piece->of, bytes.size);

    if (!job)
        return RAPAHUB_ENOMEM;
    describe(job, piece);
    memcpy(job->memory, bytes.data, bytes.size);
    return give(thread, job, request);
}
