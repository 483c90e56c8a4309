/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/disk_worker.h"

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/disk/container_folders.h"
#include "hub/base/clock.h"

#define TOPIC      "node"
#define SWEEP_NS   (3600 * HUB_SECOND)
#define SWEEP_MOST 64 /* names that are removed before requests are looked for again */

#define JOB_OF(at) HUB_LIST_ITEM(at, struct cluster_disk_job, link)

static uint64_t wall_s(void)
{
    return hub_clock_wall() / HUB_SECOND;
}

int cluster_disk_worker_begin(struct cluster_disk_worker *worker,
                              const struct cluster_store_thread_options *options)
{
    int r;

    worker->folder = options->folder;
    worker->wall_s = options->wall_s ? options->wall_s : wall_s;
    worker->sweep_ns = 0;
    worker->folders = (struct cluster_container_folders){.pools = &options->folder->pools};
    worker->seen = options->folder->store.revision;
    hub_list_init(&worker->others);
    cluster_disk_copies_begin(&worker->copies, &options->folder->copies);
    cluster_guest_records_init(&worker->guests, &options->folder->root, options->machine_boot);
    r = cluster_disk_blobs_begin(&worker->blobs, &options->folder->blobs);
    if (r < 0)
        return r;
    r = cluster_disk_log_begin(&worker->log, options->log);
    if (r < 0)
        cluster_disk_blobs_end(&worker->blobs);
    return r;
}

void cluster_disk_worker_end(struct cluster_disk_worker *worker)
{
    cluster_disk_log_end(&worker->log);
    cluster_disk_blobs_end(&worker->blobs);
    cluster_disk_copies_end(&worker->copies);
}

void cluster_disk_worker_take(struct cluster_disk_worker *worker, struct hub_list *jobs)
{
    struct hub_list *link;

    while ((link = hub_list_pop(jobs))) {
        bool of_log = JOB_OF(link)->kind <= CLUSTER_DISK_SNAPSHOT;

        hub_list_append(of_log ? &worker->log.waiting : &worker->others, link);
    }
}

bool cluster_disk_worker_is_busy(const struct cluster_disk_worker *worker)
{
    return !hub_list_empty(&worker->log.waiting) || !hub_list_empty(&worker->others);
}

static void end(struct cluster_disk_job *job, int status, struct hub_list *ended)
{
    cluster_disk_job_end(job, status);
    hub_list_remove(&job->link);
    hub_list_append(ended, &job->link);
}

/* ---- guests ---- */

static bool is_of_guest(const struct hub_list *link)
{
    const struct cluster_disk_job *job =
        HUB_LIST_ITEM((struct hub_list *)(uintptr_t)link, struct cluster_disk_job, link);

    return job->kind == CLUSTER_DISK_GUEST_CAME || job->kind == CLUSTER_DISK_GUEST_GONE;
}

/* Carries out the requests about guests that follow each other with one write. A guest that
 * cannot be noted fails alone. */
static void run_guests(struct cluster_disk_worker *worker, struct hub_list *ended)
{
    struct hub_list noted;
    int r = 0;

    hub_list_init(&noted);
    while (!hub_list_empty(&worker->others) && is_of_guest(worker->others.next)) {
        struct cluster_disk_job *job = JOB_OF(worker->others.next);

        hub_list_remove(&job->link);
        hub_list_append(&noted, &job->link);
        if (job->kind == CLUSTER_DISK_GUEST_GONE)
            cluster_guest_records_remove(&worker->guests, job->guest);
        else
            r = cluster_guest_records_add(&worker->guests, job->guest);
        if (r < 0)
            end(job, r, ended);
        r = 0;
    }
    r = cluster_guest_records_write(&worker->guests);
    while (!hub_list_empty(&noted))
        end(JOB_OF(noted.next), r, ended);
}

/* ---- the others ---- */

/* A late one does not take back a later revision. */
static int note_seen(struct cluster_disk_worker *worker, uint64_t revision)
{
    struct cluster_data_folder_store store = worker->folder->store;
    int r;

    if (revision <= worker->seen)
        return 0;
    store.revision = revision;
    r = cluster_data_folder_write_store(worker->folder, &store);
    if (r == 0)
        worker->seen = revision;
    return r;
}

static int write_certificate(struct cluster_disk_worker *worker, const struct cluster_disk_job *job)
{
    const struct cluster_files_folder *root = &worker->folder->root;
    struct cluster_files_folder tls;
    int r = cluster_files_open_folder(root->files, root, CLUSTER_DATA_FOLDER_TLS, false, &tls);

    if (r < 0)
        return r;
    r = cluster_files_replace(&tls, CLUSTER_DATA_FOLDER_OWN, job->memory, job->room);
    cluster_files_close_folder(&tls);
    return r;
}

static int run_job(struct cluster_disk_worker *worker, struct cluster_disk_job *job,
                   uint64_t now_ns)
{
    switch (job->kind) {
    case CLUSTER_DISK_SEEN:
        return note_seen(worker, job->revision);
    case CLUSTER_DISK_COPY_WRITE:
        return cluster_disk_copies_write(&worker->copies, job);
    case CLUSTER_DISK_COPY_READ:
        return cluster_disk_copies_read(&worker->copies, job);
    case CLUSTER_DISK_COPY_REMOVE:
        return cluster_disk_copies_remove(&worker->copies, job);
    case CLUSTER_DISK_COPY_SEAL:
        return cluster_disk_copies_seal(&worker->copies, job);
    case CLUSTER_DISK_COPY_PIECE:
        return cluster_disk_copies_piece(&worker->copies, job);
    case CLUSTER_DISK_COPY_ADOPT:
        return cluster_disk_copies_adopt(&worker->copies, job);
    case CLUSTER_DISK_FOLDER_MAKE:
        return cluster_container_folders_make(&worker->folders, job->of.pool, job->of.container);
    case CLUSTER_DISK_FOLDER_ASIDE:
        return cluster_container_folders_put_aside(&worker->folders, job->of.pool,
                                                   job->of.container, worker->wall_s());
    case CLUSTER_DISK_CERTIFICATE:
        return write_certificate(worker, job);
    case CLUSTER_DISK_BLOB_PART:
        return cluster_disk_blobs_part(&worker->blobs, job, now_ns);
    case CLUSTER_DISK_BLOB_READ:
        return cluster_disk_blobs_read(&worker->blobs, job);
    case CLUSTER_DISK_BLOB_GET:
        return cluster_disk_blobs_get(&worker->blobs, job);
    default:
        return cluster_disk_blobs_remove(&worker->blobs, job);
    }
}

static void run_other(struct cluster_disk_worker *worker, uint64_t now_ns, struct hub_list *ended)
{
    if (hub_list_empty(&worker->others))
        return;
    if (is_of_guest(worker->others.next)) {
        run_guests(worker, ended);
    } else {
        struct cluster_disk_job *job = JOB_OF(worker->others.next);

        end(job, run_job(worker, job, now_ns), ended);
    }
}

/* A folder that cannot be removed stays until the next time. */
static void sweep(struct cluster_disk_worker *worker, uint64_t now_ns)
{
    int r = cluster_container_folders_sweep(&worker->folder->pools, worker->wall_s(), SWEEP_MOST);

    if (r < 0)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s", rapahub_last_error()->text);
    if (r <= 0)
        worker->sweep_ns = now_ns + SWEEP_NS;
}

uint64_t cluster_disk_worker_run(struct cluster_disk_worker *worker, uint64_t now_ns,
                                 struct hub_list *ended)
{
    uint64_t due_ns = worker->sweep_ns;

    cluster_disk_log_run(&worker->log, now_ns, ended);
    run_other(worker, now_ns, ended);
    if (!hub_list_empty(&worker->others))
        return 0;
    if (now_ns >= worker->sweep_ns && hub_list_empty(ended)) {
        sweep(worker, now_ns);
        due_ns = worker->sweep_ns <= now_ns ? 0 : worker->sweep_ns;
    }
    if (!hub_list_empty(&worker->log.waiting) && worker->log.due_ns < due_ns)
        due_ns = worker->log.due_ns;
    return due_ns;
}

void cluster_disk_worker_cancel(struct cluster_disk_worker *worker, struct hub_list *ended)
{
    struct hub_list *const lists[] = {&worker->log.waiting, &worker->others};

    for (size_t i = 0; i < 2; i++)
        while (!hub_list_empty(lists[i])) {
            rapahub_fail(-ECANCELED, "", "the node stops");
            end(JOB_OF(lists[i]->next), -ECANCELED, ended);
        }
}
