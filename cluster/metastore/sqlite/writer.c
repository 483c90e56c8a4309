/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/sqlite/backup.h"
#include "cluster/metastore/sqlite/history.h"
#include "cluster/metastore/sqlite/transactions.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/own.h"
#include "hub/base/thread.h"

#define SLEEP_NS (60 * HUB_SECOND) /* the owner wakes it; so long a mistake of that would last */

#define JOB_OF(at) HUB_LIST_ITEM(at, struct cluster_job, link)

static void move_all(struct hub_list *to, struct hub_list *from)
{
    struct hub_list *link;

    while ((link = hub_list_pop(from)))
        hub_list_append(to, link);
}

static void end(struct cluster_writer *writer, struct cluster_job *job)
{
    hub_list_remove(&job->link);
    hub_list_append(&writer->ended, &job->link);
}

/* From now on each job ends with CLUSTER_TXN_CORRUPT, and nothing is written.
 * r[impl cluster.store.space] */
static void give_up(struct cluster_writer *writer, int rc)
{
    int code = cluster_database_fail(&writer->database, rc);

    cluster_database_abandon(&writer->database);
    writer->broken = true;
    hub_mutex_lock(&writer->lock);
    writer->failure = code;
    snprintf(writer->text, sizeof writer->text, "%s", rapahub_last_error()->text);
    hub_mutex_unlock(&writer->lock);
}

static void refuse(struct cluster_writer *writer, struct cluster_job *job)
{
    cluster_results_clear(&job->results);
    job->more = false;
    job->status = CLUSTER_TXN_CORRUPT;
    end(writer, job);
}

/* Runs the transactions at the head of the list together. */
static void run_transactions(struct cluster_writer *writer, struct hub_list *todo)
{
    struct cluster_job *jobs[CLUSTER_TRANSACTIONS_MAX];
    size_t count = 0;
    int rc;

    while (count < CLUSTER_TRANSACTIONS_MAX && !hub_list_empty(todo) &&
           JOB_OF(todo->next)->kind == CLUSTER_JOB_TXN)
        jobs[count++] = JOB_OF(hub_list_pop(todo));
    rc = cluster_transactions_commit(&writer->database, jobs, count);
    hub_count64(&writer->commits, 1);
    hub_count64(&writer->transactions, count);
    for (size_t i = 0; i < count; i++)
        end(writer, jobs[i]);
    if (rc == SQLITE_OK)
        rc = cluster_database_checkpoint(&writer->database);
    if (rc != SQLITE_OK)
        give_up(writer, rc);
}

static void run_job(struct cluster_writer *writer, struct cluster_job *job)
{
    struct cluster_database *database = &writer->database;
    int rc = SQLITE_OK;

    switch (job->kind) {
    case CLUSTER_JOB_RANGE:
    case CLUSTER_JOB_PEEK:
        rc = cluster_history_read(database, job);
        break;
    case CLUSTER_JOB_WATCH:
        if (!cluster_history_may_watch(database, job))
            break;
        hub_list_append(&writer->watches, &job->link);
        return;
    case CLUSTER_JOB_COMPACT:
        hub_list_append(&writer->compactions, &job->link);
        return;
    case CLUSTER_JOB_BACKUP:
        job->status = cluster_backup_write(database, job->path);
        job->rev = database->revision;
        break;
    default:
        job->rev = database->revision;
    }
    if (rc != SQLITE_OK) {
        give_up(writer, rc);
        refuse(writer, job);
    } else {
        end(writer, job);
    }
}

static void run_jobs(struct cluster_writer *writer, struct hub_list *todo)
{
    while (!hub_list_empty(todo)) {
        struct cluster_job *job = JOB_OF(todo->next);

        if (writer->broken)
            refuse(writer, job);
        else if (job->kind == CLUSTER_JOB_TXN)
            run_transactions(writer, todo);
        else
            run_job(writer, JOB_OF(hub_list_pop(todo)));
    }
}

/* A watch that has something to be told goes to the owner, and comes back after that. */
static void look_at_watches(struct cluster_writer *writer)
{
    HUB_LIST_EACH (&writer->watches, link) {
        struct cluster_job *job = JOB_OF(link);
        bool any = hub_observe(&job->gone) != 0;
        int rc = SQLITE_OK;

        if (writer->broken) {
            refuse(writer, job);
            continue;
        }
        if (!any && job->span.rev != writer->database.revision) {
            rc = cluster_history_watch(&writer->database, job, &any);
            writer->restless |= !any && job->span.rev != writer->database.revision;
        }
        if (rc != SQLITE_OK) {
            give_up(writer, rc);
            refuse(writer, job);
        } else if (any) {
            end(writer, job);
        }
    }
}

/* A part of the oldest compaction; other jobs come between two parts. */
static void compact(struct cluster_writer *writer)
{
    struct cluster_job *job;
    bool done;
    int rc;

    if (hub_list_empty(&writer->compactions))
        return;
    job = JOB_OF(writer->compactions.next);
    if (writer->broken) {
        refuse(writer, job);
        return;
    }
    rc = cluster_history_compact(&writer->database, job, &done);
    if (rc == SQLITE_OK)
        rc = cluster_database_checkpoint(&writer->database);
    if (rc != SQLITE_OK) {
        give_up(writer, rc);
        refuse(writer, job);
    } else if (done) {
        end(writer, job);
    }
}

static void hand_over(struct cluster_writer *writer)
{
    bool any = !hub_list_empty(&writer->ended);
    uint64_t one = 1;

    hub_publish64(&writer->revision, writer->database.revision);
    hub_publish64(&writer->compacted, writer->database.compacted);
    if (!any)
        return;
    hub_mutex_lock(&writer->lock);
    move_all(&writer->done, &writer->ended);
    hub_mutex_unlock(&writer->lock);
    while (write(writer->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Waits for jobs, unless there is something to go on with. False if the thread shall end. */
static bool next_jobs(struct cluster_writer *writer, struct hub_list *todo)
{
    bool goes_on = writer->restless || !hub_list_empty(&writer->compactions), closing;

    writer->restless = false;
    for (;;) {
        uint32_t seen = hub_observe(&writer->orders);

        hub_mutex_lock(&writer->lock);
        move_all(todo, &writer->todo);
        closing = writer->closing;
        hub_mutex_unlock(&writer->lock);
        if (closing || goes_on || !hub_list_empty(todo))
            return !closing;
        goes_on = hub_futex_wait_private(&writer->orders, seen, hub_clock_after(SLEEP_NS)) == 0;
    }
}

static void *work(void *user)
{
    struct cluster_writer *writer = user;
    struct hub_list todo;

    hub_list_init(&todo);
    while (next_jobs(writer, &todo)) {
        run_jobs(writer, &todo);
        look_at_watches(writer);
        compact(writer);
        hand_over(writer);
    }
    move_all(&writer->ended, &todo);
    return NULL;
}

static void init(struct cluster_writer *writer)
{
    *writer = (struct cluster_writer){.fd = -1};
    hub_mutex_init(&writer->lock, HUB_MUTEX_METASTORE);
    hub_list_init(&writer->todo);
    hub_list_init(&writer->done);
    hub_list_init(&writer->ended);
    hub_list_init(&writer->watches);
    hub_list_init(&writer->compactions);
}

int cluster_writer_start(struct cluster_writer *writer, const char *path, bool create)
{
    int r;

    init(writer);
    r = cluster_database_open(path, create, &writer->database);
    if (r != 0)
        return r;
    hub_publish64(&writer->revision, writer->database.revision);
    hub_publish64(&writer->compacted, writer->database.compacted);
    writer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = writer->fd < 0 ? -errno : hub_thread_start(&writer->thread, work, writer);
    if (r == 0)
        return 0;
    rapahub_fail(r, "", "%s: cannot start the metastore's thread: %s", path, strerrordesc_np(-r));
    cluster_database_close(&writer->database);
    hub_fd_release(&writer->fd);
    return r;
}

void cluster_writer_nudge(struct cluster_writer *writer)
{
    hub_add(&writer->orders, 1);
    hub_futex_wake_one_private(&writer->orders);
}

void cluster_writer_give(struct cluster_writer *writer, struct cluster_job *job)
{
    hub_mutex_lock(&writer->lock);
    hub_list_append(&writer->todo, &job->link);
    hub_mutex_unlock(&writer->lock);
    cluster_writer_nudge(writer);
}

void cluster_writer_take(struct cluster_writer *writer, struct hub_list *to)
{
    uint64_t count;

    while (read(writer->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
    hub_mutex_lock(&writer->lock);
    move_all(to, &writer->done);
    hub_mutex_unlock(&writer->lock);
}

int cluster_writer_failure(struct cluster_writer *writer)
{
    char text[CLUSTER_WRITER_TEXT_MAX];
    int failure;

    hub_mutex_lock(&writer->lock);
    failure = writer->failure;
    memcpy(text, writer->text, sizeof text);
    hub_mutex_unlock(&writer->lock);
    return failure == 0 ? 0 : rapahub_fail(failure, "", "%s", text);
}

void cluster_writer_stop(struct cluster_writer *writer, struct hub_list *to)
{
    hub_mutex_lock(&writer->lock);
    writer->closing = true;
    hub_mutex_unlock(&writer->lock);
    cluster_writer_nudge(writer);
    pthread_join(writer->thread, NULL);
    hub_mutex_lock(&writer->lock);
    move_all(to, &writer->done);
    move_all(to, &writer->todo);
    hub_mutex_unlock(&writer->lock);
    move_all(to, &writer->ended);
    move_all(to, &writer->watches);
    move_all(to, &writer->compactions);
    hub_mutex_fini(&writer->lock);
    close(writer->fd);
    cluster_database_close(&writer->database);
}
