/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/disk_job.h"

#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

struct cluster_disk_job *cluster_disk_job_new(enum cluster_disk_job_kind kind, size_t room)
{
    struct cluster_disk_job *job = calloc(1, sizeof *job + room);

    if (!job) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a request to the disk");
        return NULL;
    }
    hub_list_init(&job->link);
    job->kind = kind;
    job->room = job->bytes = room;
    job->result.text = job->text;
    job->result.fd = -1;
    return job;
}

static void free_copy(struct cluster_copy *copy)
{
    free((void *)(uintptr_t)copy->state.data);
    free((void *)(uintptr_t)copy->dedup.data);
}

void cluster_disk_job_free_copies(struct cluster_disk_copies *copies)
{
    for (size_t i = 0; i < copies->count; i++)
        free_copy(&copies->of[i]);
    free(copies->of);
    *copies = (struct cluster_disk_copies){0};
}

void cluster_disk_job_free(struct cluster_disk_job *job)
{
    free_copy(&job->copy);
    free(job->entries.of);
    cluster_disk_job_free_copies(&job->result.copies);
    hub_fd_release(&job->result.fd);
    free(job);
}

void cluster_disk_job_end(struct cluster_disk_job *job, int status)
{
    job->result.status = status;
    if (status < 0)
        snprintf(job->text, sizeof job->text, "%s", rapahub_last_error()->text);
}

void cluster_disk_job_tell(struct cluster_disk_job *job)
{
    job->on_done(job->user, &job->result);
    cluster_disk_job_free(job);
}
