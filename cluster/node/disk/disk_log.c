/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/disk_log.h"

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/store/snapshot.h"
#include "hub/base/clock.h"

#define TOPIC    "node"
#define RETRY_NS HUB_SECOND

#define JOB_OF(at) HUB_LIST_ITEM(at, struct cluster_disk_job, link)

int cluster_disk_log_begin(struct cluster_disk_log *log, const struct cluster_wal_options *options)
{
    hub_list_init(&log->waiting);
    log->due_ns = 0;
    return cluster_wal_begin(&log->wal, options);
}

void cluster_disk_log_end(struct cluster_disk_log *log)
{
    cluster_wal_end(&log->wal);
}

static void end(struct cluster_disk_log *log, struct cluster_disk_job *job, int status,
                struct hub_list *ended)
{
    cluster_disk_job_end(job, status);
    job->result.wants_snapshot = status == 0 && cluster_wal_wants_snapshot(&log->wal);
    hub_list_remove(&job->link);
    hub_list_append(ended, &job->link);
}

/* Gives records to the log up to the next snapshot. A full disk ends it early. */
static int append_all(struct cluster_disk_log *log, struct hub_list *ended)
{
    HUB_LIST_EACH (&log->waiting, link) {
        struct cluster_disk_job *job = JOB_OF(link);
        int r;

        if (job->kind != CLUSTER_DISK_APPEND)
            break;
        if (job->appended)
            continue;
        r = cluster_wal_append(&log->wal, &job->record, (const void *)job->memory);
        if (cluster_files_is_full(r))
            return r;
        job->appended = r == 0;
        if (r < 0)
            end(log, job, r, ended);
    }
    return 0;
}

/* Ends the records that the log was given. */
static void end_appended(struct cluster_disk_log *log, int status, struct hub_list *ended)
{
    HUB_LIST_EACH (&log->waiting, link)
        if (JOB_OF(link)->appended &&
            (status < 0 || JOB_OF(link)->record.revision <= cluster_wal_synced(&log->wal)))
            end(log, JOB_OF(link), status, ended);
}

static void wait_for_space(struct cluster_disk_log *log, uint64_t now_ns)
{
    if (log->due_ns == 0)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s: changes of the map wait for space",
                    rapahub_last_error()->text);
    log->due_ns = now_ns + RETRY_NS;
}

/* Says whether all records are durable, or have failed. */
static bool flush(struct cluster_disk_log *log, uint64_t now_ns, struct hub_list *ended)
{
    int r = append_all(log, ended);

    if (r == 0)
        r = cluster_wal_sync(&log->wal);
    if (cluster_files_is_full(r)) {
        wait_for_space(log, now_ns);
        end_appended(log, 0, ended);
        return false;
    }
    if (log->due_ns != 0)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the log of the map has space again");
    log->due_ns = 0;
    end_appended(log, r, ended);
    return true;
}

static int write_snapshot(const struct cluster_disk_log *log, const struct cluster_disk_job *job)
{
    struct cluster_snapshot snapshot;
    int r;

    if (job->entries.revision > cluster_wal_synced(&log->wal))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a snapshot of a map that is not yet in the log");
    r = cluster_snapshot_begin(&snapshot, log->wal.log, job->entries.revision);
    if (r < 0)
        return r;
    for (size_t i = 0; i < job->entries.count && r == 0; i++)
        r = cluster_snapshot_add(&snapshot, &job->entries.of[i]);
    if (r == 0)
        return cluster_snapshot_commit(&snapshot);
    cluster_snapshot_abandon(&snapshot);
    return r;
}

void cluster_disk_log_run(struct cluster_disk_log *log, uint64_t now_ns, struct hub_list *ended)
{
    while (!hub_list_empty(&log->waiting) && (log->due_ns == 0 || log->due_ns <= now_ns)) {
        struct cluster_disk_job *job;
        int r;

        if (!flush(log, now_ns, ended) || hub_list_empty(&log->waiting))
            return;
        job = JOB_OF(log->waiting.next); /* a snapshot: all records before it have ended */
        r = write_snapshot(log, job);
        if (r == 0)
            cluster_wal_has_snapshot(&log->wal);
        end(log, job, r, ended);
    }
}
