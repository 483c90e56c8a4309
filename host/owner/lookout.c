/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/lookout.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <rapahub/error.h>

#include "hub/base/futex.h"
#include "hub/base/own.h"
#include "hub/base/thread.h"

#define BATCH   16
#define IDLE_MS 3600000 /* every event makes its epoll ready */

enum { NUMBER_BELL = 1, NUMBER_LOOP, NUMBER_FIRST };

static int add(const struct host_lookout *lookout, int fd, uint64_t number, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u64 = number}};

    return epoll_ctl(lookout->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* ---- the thread ---- */

static void tell_napper(struct host_lookout *lookout)
{
    (void)hub_exchange(&lookout->listens, 0);
    hub_mutex_lock(&lookout->lock);
    if (lookout->napper) {
        hub_calls_stir(lookout->napper->connection->calls);
        hub_link_nudge(lookout->napper->connection->link);
    } else {
        hub_add(&lookout->told, 1);
        hub_futex_wake_private(&lookout->told);
    }
    hub_mutex_unlock(&lookout->lock);
}

static void tell_of_end(struct host_lookout *lookout, uint64_t number)
{
    struct host_post *post;

    hub_mutex_lock(&lookout->lock);
    post = hub_id_map_get(lookout->posts, number);
    if (post)
        hub_link_suspect(post->connection->link);
    hub_mutex_unlock(&lookout->lock);
}

static void look(struct host_lookout *lookout)
{
    struct epoll_event events[BATCH];
    int n = epoll_wait(lookout->epoll, events, BATCH, IDLE_MS);
    eventfd_t count;

    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == NUMBER_BELL)
            (void)eventfd_read(lookout->bell, &count);
        else if (events[i].data.u64 == NUMBER_LOOP)
            tell_napper(lookout);
        else
            tell_of_end(lookout, events[i].data.u64);
    }
}

static void *run_thread(void *argument)
{
    struct host_lookout *lookout = argument;

    while (hub_observe(&lookout->end) == 0)
        look(lookout);
    return NULL;
}

/* ---- the owner's side ---- */

static void fini(struct host_lookout *lookout)
{
    hub_id_map_release(&lookout->posts);
    hub_fd_release(&lookout->bell);
    hub_fd_release(&lookout->epoll);
    hub_mutex_fini(&lookout->lock);
}

/* The loop is registered from the start, but with no events. */
int host_lookout_open(struct host_lookout *lookout, int loop, uint32_t posts)
{
    int r;

    *lookout = (struct host_lookout){.bell = -1, .loop = loop, .numbers = NUMBER_FIRST};
    hub_mutex_init(&lookout->lock, HUB_MUTEX_LOOKOUT);
    lookout->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (lookout->epoll >= 0)
        lookout->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = lookout->bell < 0 ? -errno : add(lookout, lookout->bell, NUMBER_BELL, EPOLLIN);
    if (r == 0)
        r = add(lookout, loop, NUMBER_LOOP, EPOLLONESHOT);
    if (r == 0)
        r = hub_id_map_create(posts, &lookout->posts);
    if (r == 0)
        r = hub_thread_start(&lookout->thread, run_thread, lookout);
    lookout->open = r == 0;
    if (r == 0)
        return 0;
    fini(lookout);
    return rapahub_fail(r, "", "cannot look out for the ends of guests");
}

void host_lookout_close(struct host_lookout *lookout)
{
    if (!lookout->open)
        return;
    hub_publish(&lookout->end, 1);
    (void)eventfd_write(lookout->bell, 1);
    pthread_join(lookout->thread, NULL);
    fini(lookout);
    lookout->open = false;
}

/* An end is reported only once. */
int host_lookout_post(struct host_lookout *lookout, struct host_post *post)
{
    uint64_t number = lookout->numbers++;
    int r;

    hub_mutex_lock(&lookout->lock);
    r = hub_id_map_put(lookout->posts, number, post);
    hub_mutex_unlock(&lookout->lock);
    if (r == 0)
        post->number = number;
    if (r == 0)
        r = add(lookout, post->pidfd, number, EPOLLIN | EPOLLONESHOT);
    if (r < 0) {
        host_lookout_forget(lookout, post);
        return rapahub_fail(r, "", "cannot look out for the end of a guest");
    }
    return 0;
}

void host_lookout_forget(struct host_lookout *lookout, struct host_post *post)
{
    if (!lookout->open)
        return;
    hub_mutex_lock(&lookout->lock);
    if (lookout->napper == post)
        lookout->napper = NULL;
    if (post->number != 0)
        hub_id_map_remove(lookout->posts, post->number);
    hub_mutex_unlock(&lookout->lock);
    if (post->number != 0)
        epoll_ctl(lookout->epoll, EPOLL_CTL_DEL, post->pidfd, NULL);
    post->number = 0;
}

static void set_napper(struct host_lookout *lookout, struct host_post *post)
{
    hub_mutex_lock(&lookout->lock);
    lookout->napper = post;
    hub_mutex_unlock(&lookout->lock);
}

/* The order matters against `tell_napper`: an owner that is not woken by it sees that `listens` is
 * 0, and events in the loop are then reported again. */
bool host_lookout_nap(struct host_lookout *lookout, struct host_post *post)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = NUMBER_LOOP}};

    if (!lookout->open)
        return false;
    if (lookout->napper != post)
        set_napper(lookout, post);
    if (hub_observe(&lookout->listens) != 0)
        return true;
    hub_publish(&lookout->listens, 1);
    if (epoll_ctl(lookout->epoll, EPOLL_CTL_MOD, lookout->loop, &event) == 0)
        return true;
    hub_publish(&lookout->listens, 0);
    return false;
}
