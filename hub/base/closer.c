/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/closer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/mutex.h"
#include "hub/base/own.h"
#include "hub/base/received.h"
#include "hub/base/thread.h"

#define EMPTY_MOST  4096 /* messages of one queue */
#define WAIT_MOST   HUB_SECOND
#define SETTLE_MOST (20 * HUB_MILLISECOND)
#define SLICE       (3600 * HUB_SECOND) /* length of one wait; the thread waits again after it */
#define PIECE       4096

struct job {
    int fd;
    bool is_end;
};

struct hub_closer {
    struct hub_mutex lock;
    struct job jobs[HUB_CLOSER_WAITING_MAX] GUARDED_BY(lock);
    unsigned first GUARDED_BY(lock), count GUARDED_BY(lock);
    bool started GUARDED_BY(lock);
    pthread_t thread;
    struct hub_a32 users;
    struct hub_a32 given;  /* counts the descriptors given, and the end */
    struct hub_a32 done;   /* counts the descriptors closed */
    struct hub_a32 due;    /* value of `done` before which no further settle waits */
    struct hub_a32 ends;   /* no more descriptors will be given */
    struct hub_a32 closed; /* all are closed, and the thread does nothing more */
    /* set by both the thread and the last user; the second one frees the closer */
    struct hub_a32 left;
};

/* ---- the thread ---- */

/* A socket that would wait until its bytes are sent is told not to. The kernel sends them all the
 * same. */
static void close_one(int fd)
{
    static const struct linger none = {0};
    struct linger found;
    socklen_t size = sizeof found;

    if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &found, &size) == 0 && found.l_onoff &&
        found.l_linger > 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(fd);
}

static void empty(int fd)
{
    char bytes[PIECE];
    struct hub_received received = {.bytes = bytes, .room = sizeof bytes};

    for (int i = 0; i < EMPTY_MOST; i++) {
        ssize_t n = hub_received_take(fd, &received);

        if (n < 0 || (n == 0 && received.fds_count == 0))
            break;
        while (received.fds_count > 0)
            close_one(received.fds[--received.fds_count]);
    }
}

static bool next(struct hub_closer *closer, struct job *out)
{
    bool found;

    hub_mutex_lock(&closer->lock);
    found = closer->count > 0;
    if (found) {
        *out = closer->jobs[closer->first];
        closer->first = (closer->first + 1) % HUB_CLOSER_WAITING_MAX;
        closer->count--;
    }
    hub_mutex_unlock(&closer->lock);
    return found;
}

static void destroy(struct hub_closer *closer)
{
    hub_mutex_fini(&closer->lock);
    free(closer);
}

static void *run(void *user)
{
    struct hub_closer *closer = user;
    struct job job;
    bool ends = false;

    while (!ends) {
        uint32_t seen = hub_observe(&closer->given);

        ends = hub_observe(&closer->ends) != 0;
        while (next(closer, &job)) {
            if (job.is_end)
                empty(job.fd);
            close(job.fd);
            hub_add(&closer->done, 1);
            hub_futex_wake_private(&closer->done);
        }
        if (!ends)
            (void)hub_futex_wait_private(&closer->given, seen, hub_clock_after(SLICE));
    }
    hub_publish(&closer->closed, 1);
    hub_futex_wake_private(&closer->closed);
    if (hub_exchange(&closer->left, 1) != 0)
        destroy(closer);
    return NULL;
}

/* ---- the users ---- */

int hub_closer_create(struct hub_closer **out)
{
    struct hub_closer *closer = calloc(1, sizeof *closer);

    if (!closer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for who closes descriptors");
    hub_mutex_init(&closer->lock, HUB_MUTEX_CLOSER);
    hub_store_relaxed(&closer->users, 1);
    *out = closer;
    return 0;
}

struct hub_closer *hub_closer_hold(struct hub_closer *closer)
{
    hub_add(&closer->users, 1);
    return closer;
}

/* If no thread can be started now, the next descriptor tries again. */
static void start(struct hub_closer *closer) REQUIRES(closer->lock)
{
    if (!closer->started)
        closer->started = hub_thread_start(&closer->thread, run, closer) == 0;
}

static bool put(struct hub_closer *closer, struct job job)
{
    bool room;

    hub_mutex_lock(&closer->lock);
    room = closer->count < HUB_CLOSER_WAITING_MAX;
    if (room)
        closer->jobs[(closer->first + closer->count++) % HUB_CLOSER_WAITING_MAX] = job;
    start(closer);
    hub_mutex_unlock(&closer->lock);
    hub_add(&closer->given, room ? 1 : 0);
    hub_futex_wake_private(&closer->given);
    return room;
}

static void give(struct hub_closer *closer, int *fd, bool is_end)
{
    int kept = errno;

    if (*fd >= 0 && !put(closer, (struct job){TAKE(*fd), is_end}))
        rapahub_log(RAPAHUB_LOG_ERROR, "closer",
                    "%d descriptors wait to be closed: one more stays open",
                    HUB_CLOSER_WAITING_MAX);
    errno = kept;
}

void hub_closer_give(struct hub_closer *closer, int *fd)
{
    give(closer, fd, false);
}

void hub_closer_give_end(struct hub_closer *closer, int *fd)
{
    give(closer, fd, true);
}

/* Both counters wrap. */
static bool has_closed(const struct hub_closer *closer, uint32_t count)
{
    return (int32_t)(hub_observe(&closer->done) - count) >= 0;
}

void hub_closer_settle(struct hub_closer *closer)
{
    uint64_t until = hub_clock_after(SETTLE_MOST);
    uint32_t all = hub_observe(&closer->given), seen;

    if (!has_closed(closer, hub_load_relaxed(&closer->due)))
        return;
    for (;;) {
        seen = hub_observe(&closer->done);
        if (has_closed(closer, all) || hub_clock_left(until) == 0)
            break;
        (void)hub_futex_wait_private(&closer->done, seen, until);
    }
    hub_store_relaxed(&closer->due, all);
}

/* If no thread could ever be started, the descriptors are closed here. */
static void end_without_thread(struct hub_closer *closer)
{
    struct job job;

    while (next(closer, &job))
        close(job.fd);
    destroy(closer);
}

static void end_thread(struct hub_closer *closer)
{
    uint64_t most = hub_clock_after(WAIT_MOST);
    pthread_t thread = closer->thread;

    hub_publish(&closer->ends, 1);
    hub_add(&closer->given, 1);
    hub_futex_wake_private(&closer->given);
    while (hub_observe(&closer->closed) == 0 && hub_clock_left(most) != 0)
        (void)hub_futex_wait_private(&closer->closed, 0, most);
    if (hub_observe(&closer->closed) == 0)
        rapahub_log(RAPAHUB_LOG_WARN, "closer",
                    "what a guest or client sent is still being closed: that goes on by itself");
    if (hub_observe(&closer->closed) == 0 && hub_exchange(&closer->left, 1) == 0) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    destroy(closer);
}

void hub_closer_release(struct hub_closer **pointer)
{
    struct hub_closer *closer = *pointer;
    bool started;

    *pointer = NULL;
    if (!closer || hub_add(&closer->users, UINT32_MAX) != 1)
        return;
    hub_mutex_lock(&closer->lock);
    started = closer->started;
    hub_mutex_unlock(&closer->lock);
    if (started)
        end_thread(closer);
    else
        end_without_thread(closer);
}
