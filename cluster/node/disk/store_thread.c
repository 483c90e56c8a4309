/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/store_thread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/disk/disk_worker.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/mutex.h"
#include "hub/base/own.h"
#include "hub/base/thread.h"

#define SLEEP_NS (60 * HUB_SECOND) /* the owner wakes it; so long a mistake of that would last */

#define JOB_OF(at) HUB_LIST_ITEM(at, struct cluster_disk_job, link)

struct cluster_store_thread {
    struct hub_mutex lock;
    struct hub_list todo GUARDED_BY(lock), done GUARDED_BY(lock);
    bool closing GUARDED_BY(lock), drain GUARDED_BY(lock);
    uint64_t deadline_ns GUARDED_BY(lock); /* until which it drains */
    char failure[CLUSTER_DISK_TEXT_MAX] GUARDED_BY(lock);

    struct hub_a32 orders; /* rises when there is something new for the thread */
    struct hub_a32 full, failed;
    struct hub_a64 synced;
    int fd;
    pthread_t thread;

    uint64_t open[2], bytes[2]; /* the log's are the second ones; the owner's */
    bool stopped;

    struct cluster_disk_worker worker; /* the thread's */
};

static void move_all(struct hub_list *to, struct hub_list *from)
{
    struct hub_list *link;

    while ((link = hub_list_pop(from)))
        hub_list_append(to, link);
}

/* ---- the thread ---- */

static void note_log(struct cluster_store_thread *thread)
{
    const struct cluster_disk_log *log = &thread->worker.log;

    hub_publish64(&thread->synced, cluster_wal_synced(&log->wal));
    hub_publish(&thread->full, log->due_ns != 0);
    if (!cluster_wal_has_ended(&log->wal) || hub_load_relaxed(&thread->failed) != 0)
        return;
    hub_mutex_lock(&thread->lock);
    snprintf(thread->failure, sizeof thread->failure,
             "%s: the log of the map cannot be written after an error of the disk: look at the "
             "disk, then start the node again",
             log->wal.log->folder.path);
    hub_mutex_unlock(&thread->lock);
    hub_publish(&thread->failed, 1);
}

static void hand_over(struct cluster_store_thread *thread, struct hub_list *ended)
{
    uint64_t one = 1;

    note_log(thread);
    if (hub_list_empty(ended) && hub_load_relaxed(&thread->failed) == 0)
        return;
    hub_mutex_lock(&thread->lock);
    move_all(&thread->done, ended);
    hub_mutex_unlock(&thread->lock);
    while (write(thread->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* Takes what is new. Says whether the thread goes on: it does until it is to end, and where it
 * drains, until all is done or the time is over. */
static bool take_jobs(struct cluster_store_thread *thread, struct hub_list *to)
{
    bool goes_on;

    hub_mutex_lock(&thread->lock);
    move_all(to, &thread->todo);
    goes_on =
        !thread->closing ||
        (thread->drain && (!hub_list_empty(to) || cluster_disk_worker_is_busy(&thread->worker)) &&
         hub_clock_left(thread->deadline_ns) > 0);
    hub_mutex_unlock(&thread->lock);
    return goes_on;
}

/* Sleeps until there is something new, or what waits is due; not at all if it is to end and nothing
 * is left to do. */
static void wait_for_jobs(struct cluster_store_thread *thread, uint32_t seen, uint64_t due_ns)
{
    uint64_t deadline_ns = hub_clock_after(SLEEP_NS);
    bool ends;

    hub_mutex_lock(&thread->lock);
    if (thread->closing && thread->deadline_ns < deadline_ns)
        deadline_ns = thread->deadline_ns;
    ends = thread->closing && !cluster_disk_worker_is_busy(&thread->worker);
    hub_mutex_unlock(&thread->lock);
    if (!ends)
        hub_futex_wait_private(&thread->orders, seen, due_ns < deadline_ns ? due_ns : deadline_ns);
}

static void *work(void *user)
{
    struct cluster_store_thread *thread = user;
    struct hub_list todo, ended;

    hub_list_init(&todo);
    hub_list_init(&ended);
    for (;;) {
        uint32_t seen = hub_observe(&thread->orders);
        bool goes_on = take_jobs(thread, &todo);
        uint64_t due_ns;

        cluster_disk_worker_take(&thread->worker, &todo);
        if (!goes_on)
            break;
        due_ns = cluster_disk_worker_run(&thread->worker, hub_clock_now(), &ended);
        hand_over(thread, &ended);
        if (due_ns > 0)
            wait_for_jobs(thread, seen, due_ns);
    }
    return NULL;
}

/* ---- the owner ---- */

static void release(struct cluster_store_thread *thread)
{
    hub_fd_release(&thread->fd);
    hub_mutex_fini(&thread->lock);
    free(thread);
}

int cluster_store_thread_start(const struct cluster_store_thread_options *options,
                               struct cluster_store_thread **out)
{
    struct cluster_store_thread *thread = calloc(1, sizeof *thread);
    int r;

    *out = NULL;
    if (!thread)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the thread of the disk");
    hub_mutex_init(&thread->lock, HUB_MUTEX_STORE_THREAD);
    hub_list_init(&thread->todo);
    hub_list_init(&thread->done);
    thread->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = thread->fd < 0 ? rapahub_fail(-errno, "", "no descriptor for the thread of the disk: %s",
                                      strerrordesc_np(errno))
                       : cluster_disk_worker_begin(&thread->worker, options);
    if (r == 0) {
        hub_publish64(&thread->synced, cluster_wal_synced(&thread->worker.log.wal));
        r = hub_thread_start(&thread->thread, work, thread);
        if (r < 0) {
            cluster_disk_worker_end(&thread->worker);
            rapahub_fail(r, "", "cannot start the thread of the disk: %s", strerrordesc_np(-r));
        }
    }
    if (r < 0) {
        release(thread);
        return r;
    }
    *out = thread;
    return 0;
}

static void nudge(struct cluster_store_thread *thread)
{
    hub_add(&thread->orders, 1);
    hub_futex_wake_one_private(&thread->orders);
}

static bool is_of_log(enum cluster_disk_job_kind kind)
{
    return kind <= CLUSTER_DISK_SEEN;
}

static void tell(struct cluster_store_thread *thread, struct cluster_disk_job *job)
{
    thread->open[is_of_log(job->kind)]--;
    thread->bytes[is_of_log(job->kind)] -= job->bytes;
    cluster_disk_job_tell(job);
}

void cluster_store_thread_stop(struct cluster_store_thread *thread, bool drain,
                               uint64_t deadline_ns)
{
    struct hub_list left, *link;

    if (!thread)
        return;
    hub_list_init(&left);
    thread->stopped = true;
    hub_mutex_lock(&thread->lock);
    thread->closing = true;
    thread->drain = drain;
    thread->deadline_ns = deadline_ns;
    hub_mutex_unlock(&thread->lock);
    nudge(thread);
    pthread_join(thread->thread, NULL);
    hub_mutex_lock(&thread->lock);
    move_all(&left, &thread->done);
    hub_mutex_unlock(&thread->lock);
    cluster_disk_worker_cancel(&thread->worker, &left);
    while ((link = hub_list_pop(&left)))
        tell(thread, JOB_OF(link));
    cluster_disk_worker_end(&thread->worker);
    release(thread);
}

int cluster_store_thread_fd(const struct cluster_store_thread *thread)
{
    return thread->fd;
}

/* r[impl cluster.disk.failed] */
int cluster_store_thread_step(struct cluster_store_thread *thread)
{
    char text[CLUSTER_DISK_TEXT_MAX];
    struct hub_list ended, *link;
    uint64_t count;

    hub_list_init(&ended);
    while (read(thread->fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
    hub_mutex_lock(&thread->lock);
    move_all(&ended, &thread->done);
    memcpy(text, thread->failure, sizeof text);
    hub_mutex_unlock(&thread->lock);
    while ((link = hub_list_pop(&ended)))
        tell(thread, JOB_OF(link));
    return text[0] == 0 ? 0 : rapahub_fail(RAPAHUB_EIO, "cluster.wal.fsync", "%s", text);
}

void cluster_store_thread_stats(struct cluster_store_thread *thread,
                                struct cluster_store_thread_stats *out)
{
    *out = (struct cluster_store_thread_stats){.open = thread->open[0] + thread->open[1],
                                               .bytes = thread->bytes[0] + thread->bytes[1],
                                               .full = hub_observe(&thread->full) != 0,
                                               .synced = hub_observe64(&thread->synced)};
}

/* ---- requests ---- */

/* Says whether a request with so many bytes may be open. A single one may have any number. The
 * log's are apart: one that is refused ends the node. r[impl cluster.disk.bounds] */
static int may_give(const struct cluster_store_thread *thread, enum cluster_disk_job_kind kind,
                    uint64_t bytes)
{
    uint64_t open = thread->open[is_of_log(kind)], before = thread->bytes[is_of_log(kind)];

    if (thread->stopped)
        return rapahub_fail(RAPAHUB_ESTATE, "", "the thread of the disk ends");
    if (open >= CLUSTER_STORE_THREAD_OPEN_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.disk.bounds",
                            "%d requests to the disk are open, no more are taken",
                            CLUSTER_STORE_THREAD_OPEN_MAX);
    if (before > 0 && bytes > 0 && before + bytes > CLUSTER_STORE_THREAD_BYTES_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.disk.bounds",
                            "requests to the disk have %" PRIu64 " bytes, no more are taken",
                            before);
    return 0;
}

/* r[impl cluster.disk.order] */
static void give(struct cluster_store_thread *thread, struct cluster_disk_job *job,
                 cluster_disk_on_done *on_done, void *user)
{
    job->on_done = on_done;
    job->user = user;
    thread->open[is_of_log(job->kind)]++;
    thread->bytes[is_of_log(job->kind)] += job->bytes;
    hub_mutex_lock(&thread->lock);
    hub_list_append(&thread->todo, &job->link);
    hub_mutex_unlock(&thread->lock);
    nudge(thread);
}

/* Makes a request that may be given, with `room` bytes of its own and `bytes` that are handed in.
 * NULL: it is refused; *r says why. */
static struct cluster_disk_job *make(const struct cluster_store_thread *thread,
                                     enum cluster_disk_job_kind kind, size_t room, uint64_t bytes,
                                     int *r)
{
    struct cluster_disk_job *job;

    *r = may_give(thread, kind, room + bytes);
    job = *r == 0 ? cluster_disk_job_new(kind, room) : NULL;
    if (*r == 0)
        *r = job ? 0 : -ENOMEM;
    if (job)
        job->bytes = room + bytes;
    return job;
}

int cluster_store_thread_append(struct cluster_store_thread *thread,
                                const struct cluster_wal_record *record,
                                const struct cluster_delta_change *changes,
                                cluster_disk_on_done *on_done, void *user)
{
    struct cluster_disk_job *job;
    int r;

    if (record->count == 0 || record->count > CLUSTER_DELTA_CHANGES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a record of %" PRIu32 " changes", record->count);
    job = make(thread, CLUSTER_DISK_APPEND, record->count * sizeof *changes, 0, &r);
    if (!job)
        return r;
    job->record = *record;
    memcpy(job->memory, changes, record->count * sizeof *changes);
    give(thread, job, on_done, user);
    return 0;
}

int cluster_store_thread_snapshot(struct cluster_store_thread *thread,
                                  const struct cluster_disk_entries *entries,
                                  cluster_disk_on_done *on_done, void *user)
{
    int r;
    struct cluster_disk_job *job =
        make(thread, CLUSTER_DISK_SNAPSHOT, 0, entries->count * sizeof *entries->of, &r);

    if (!job)
        return r;
    job->entries = *entries;
    give(thread, job, on_done, user);
    return 0;
}

int cluster_store_thread_give(struct cluster_store_thread *thread, struct cluster_disk_job *job,
                              struct cluster_disk_request request)
{
    int r = may_give(thread, job->kind, job->bytes);

    if (r == 0)
        give(thread, job, request.on_done, request.user);
    return r;
}

/* The kind, the guest, the container and the revision are those of `like`. */
static int give_small(struct cluster_store_thread *thread, const struct cluster_disk_job *like,
                      cluster_disk_on_done *on_done, void *user)
{
    int r;
    struct cluster_disk_job *job = make(thread, like->kind, 0, 0, &r);

    if (!job)
        return r;
    job->guest = like->guest;
    job->of = like->of;
    job->revision = like->revision;
    give(thread, job, on_done, user);
    return 0;
}

int cluster_store_thread_seen(struct cluster_store_thread *thread, uint64_t revision,
                              cluster_disk_on_done *on_done, void *user)
{
    const struct cluster_disk_job like = {.kind = CLUSTER_DISK_SEEN, .revision = revision};

    return give_small(thread, &like, on_done, user);
}

int cluster_store_thread_guest_came(struct cluster_store_thread *thread,
                                    struct cluster_guest_record guest,
                                    cluster_disk_on_done *on_done, void *user)
{
    const struct cluster_disk_job like = {.kind = CLUSTER_DISK_GUEST_CAME, .guest = guest};

    return give_small(thread, &like, on_done, user);
}

int cluster_store_thread_guest_gone(struct cluster_store_thread *thread,
                                    struct cluster_guest_record guest,
                                    cluster_disk_on_done *on_done, void *user)
{
    const struct cluster_disk_job like = {.kind = CLUSTER_DISK_GUEST_GONE, .guest = guest};

    return give_small(thread, &like, on_done, user);
}

static int give_container(struct cluster_store_thread *thread, enum cluster_disk_job_kind kind,
                          struct cluster_disk_container of, cluster_disk_on_done *on_done,
                          void *user)
{
    const struct cluster_disk_job like = {.kind = kind, .of = of};

    return give_small(thread, &like, on_done, user);
}

int cluster_store_thread_copy_read(struct cluster_store_thread *thread,
                                   struct cluster_disk_container of, cluster_disk_on_done *on_done,
                                   void *user)
{
    return give_container(thread, CLUSTER_DISK_COPY_READ, of, on_done, user);
}

int cluster_store_thread_copy_remove(struct cluster_store_thread *thread,
                                     struct cluster_disk_container of,
                                     cluster_disk_on_done *on_done, void *user)
{
    return give_container(thread, CLUSTER_DISK_COPY_REMOVE, of, on_done, user);
}

int cluster_store_thread_folder_make(struct cluster_store_thread *thread,
                                     struct cluster_disk_container of,
                                     cluster_disk_on_done *on_done, void *user)
{
    return give_container(thread, CLUSTER_DISK_FOLDER_MAKE, of, on_done, user);
}

int cluster_store_thread_folder_aside(struct cluster_store_thread *thread,
                                      struct cluster_disk_container of,
                                      cluster_disk_on_done *on_done, void *user)
{
    return give_container(thread, CLUSTER_DISK_FOLDER_ASIDE, of, on_done, user);
}

/* Copies the part, or has room for one of its size. */
static int give_part(struct cluster_store_thread *thread, enum cluster_disk_job_kind kind,
                     const struct cluster_disk_part *part, cluster_disk_on_done *on_done,
                     void *user)
{
    struct cluster_disk_job *job;
    int r;

    if (part->part.size > CLUSTER_DISK_PART_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a part of a file has at most %zu bytes",
                            CLUSTER_DISK_PART_MAX);
    job = make(thread, kind, part->part.size, 0, &r);
    if (!job)
        return r;
    job->part = job->result.asked = *part;
    job->part.part.data = job->memory;
    if (part->part.data && part->part.size > 0)
        memcpy(job->memory, part->part.data, part->part.size);
    give(thread, job, on_done, user);
    return 0;
}

int cluster_store_thread_certify(struct cluster_store_thread *thread, struct rapahub_bytes pem,
                                 cluster_disk_on_done *on_done, void *user)
{
    const struct cluster_disk_part part = {.part = pem};

    return give_part(thread, CLUSTER_DISK_CERTIFICATE, &part, on_done, user);
}

int cluster_store_thread_blob_part(struct cluster_store_thread *thread,
                                   const struct cluster_disk_part *part,
                                   cluster_disk_on_done *on_done, void *user)
{
    return give_part(thread, CLUSTER_DISK_BLOB_PART, part, on_done, user);
}

int cluster_store_thread_blob_read(struct cluster_store_thread *thread,
                                   const struct cluster_disk_part *part,
                                   cluster_disk_on_done *on_done, void *user)
{
    return give_part(thread, CLUSTER_DISK_BLOB_READ, part, on_done, user);
}

static int give_whole(struct cluster_store_thread *thread, enum cluster_disk_job_kind kind,
                      const uint8_t *digest, cluster_disk_on_done *on_done, void *user)
{
    struct cluster_disk_part part = {.offset = 0};

    memcpy(part.digest, digest, CLUSTER_DIGEST_SIZE);
    return give_part(thread, kind, &part, on_done, user);
}

int cluster_store_thread_blob_get(struct cluster_store_thread *thread,
                                  const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                  cluster_disk_on_done *on_done, void *user)
{
    return give_whole(thread, CLUSTER_DISK_BLOB_GET, digest, on_done, user);
}

int cluster_store_thread_blob_remove(struct cluster_store_thread *thread,
                                     const uint8_t digest[CLUSTER_DIGEST_SIZE],
                                     cluster_disk_on_done *on_done, void *user)
{
    return give_whole(thread, CLUSTER_DISK_BLOB_REMOVE, digest, on_done, user);
}
