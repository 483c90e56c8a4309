/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/thread.h"

#define IDLE_MOST 4
#define PATIENCE  HUB_SECOND

struct hub_thread_pool_member {
    struct hub_thread_pool *pool;
    pthread_t thread;
    struct hub_thread_pool_member *next, *next_idle; /* in the pool's lists */
    void (*work)(void *user);                        /* NULL: leave */
    void *user;
    struct hub_a32 orders; /* number of orders given; a futex */
    bool left;             /* under the pool's lock: its thread does nothing more */
};

static void unlist(struct hub_thread_pool *pool, struct hub_thread_pool_member *member)
    REQUIRES(pool->lock)
{
    struct hub_thread_pool_member **at = &pool->idle;

    while (*at != member)
        at = &(*at)->next_idle;
    *at = member->next_idle;
    pool->idle_count--;
}

static bool make_idle(struct hub_thread_pool_member *member)
{
    struct hub_thread_pool *pool = member->pool;

    hub_mutex_lock(&pool->lock);
    member->left = pool->closing || pool->idle_count == IDLE_MOST;
    if (!member->left) {
        member->next_idle = pool->idle;
        pool->idle = member;
        pool->idle_count++;
    }
    hub_mutex_unlock(&pool->lock);
    return !member->left;
}

/* No order came in time: leaves, unless one came just now. */
static bool leave(struct hub_thread_pool_member *member, uint32_t seen)
{
    struct hub_thread_pool *pool = member->pool;

    hub_mutex_lock(&pool->lock);
    member->left = hub_observe(&member->orders) == seen;
    if (member->left)
        unlist(pool, member);
    hub_mutex_unlock(&pool->lock);
    return member->left;
}

/* Waits for the next order. False if the thread shall end. */
static bool stays(struct hub_thread_pool_member *member)
{
    uint32_t seen = hub_load_relaxed(&member->orders); /* no order comes before it is idle */
    uint64_t deadline = hub_clock_after(PATIENCE);

    if (!make_idle(member))
        return false;
    while (hub_observe(&member->orders) == seen && hub_clock_left(deadline) > 0)
        hub_futex_wait_private(&member->orders, seen, deadline);
    return hub_observe(&member->orders) != seen || !leave(member, seen);
}

static void *serve(void *user)
{
    struct hub_thread_pool_member *member = user;

    do
        member->work(member->user);
    while (stays(member) && member->work);
    return NULL;
}

static void order(struct hub_thread_pool_member *member, void (*work)(void *user), void *user)
{
    member->work = work;
    member->user = user;
    hub_publish(&member->orders, hub_load_relaxed(&member->orders) + 1);
    hub_futex_wake_one_private(&member->orders);
}

static bool give_to_idle(struct hub_thread_pool *pool, void (*work)(void *user), void *user)
    REQUIRES(pool->lock)
{
    struct hub_thread_pool_member *member = pool->idle;

    if (!member)
        return false;
    unlist(pool, member);
    order(member, work, user);
    return true;
}

/* Removes the threads that have left from the pool and returns them. */
static struct hub_thread_pool_member *take_left(struct hub_thread_pool *pool) REQUIRES(pool->lock)
{
    struct hub_thread_pool_member *gone = NULL;

    for (struct hub_thread_pool_member **at = &pool->all; *at;) {
        struct hub_thread_pool_member *member = *at;

        if (!member->left) {
            at = &member->next;
            continue;
        }
        *at = member->next;
        member->next = gone;
        gone = member;
    }
    return gone;
}

static void join(struct hub_thread_pool_member *list)
{
    while (list) {
        struct hub_thread_pool_member *member = list;

        list = member->next;
        pthread_join(member->thread, NULL);
        free(member);
    }
}

/* A member is in the list as soon as there is a thread to join; its work may be done by then. */
static int enlist(struct hub_thread_pool *pool, void (*work)(void *user), void *user)
{
    struct hub_thread_pool_member *member = calloc(1, sizeof *member);
    int r;

    if (!member)
        return -ENOMEM;
    member->pool = pool;
    member->work = work;
    member->user = user;
    r = hub_thread_start(&member->thread, serve, member);
    if (r < 0) {
        free(member);
        return r;
    }
    hub_mutex_lock(&pool->lock);
    member->next = pool->all;
    pool->all = member;
    hub_mutex_unlock(&pool->lock);
    return 0;
}

void hub_thread_pool_init(struct hub_thread_pool *pool)
{
    *pool = (struct hub_thread_pool){.all = NULL};
    hub_mutex_init(&pool->lock, HUB_MUTEX_THREAD_POOL);
}

int hub_thread_pool_run(struct hub_thread_pool *pool, void (*work)(void *user), void *user)
{
    struct hub_thread_pool_member *gone;
    bool closing, given;

    hub_mutex_lock(&pool->lock);
    gone = take_left(pool);
    closing = pool->closing;
    given = !closing && give_to_idle(pool, work, user);
    hub_mutex_unlock(&pool->lock);
    join(gone);
    return closing ? -ECANCELED : given ? 0 : enlist(pool, work, user);
}

void hub_thread_pool_fini(struct hub_thread_pool *pool)
{
    struct hub_thread_pool_member *all;

    hub_mutex_lock(&pool->lock);
    pool->closing = true;
    while (give_to_idle(pool, NULL, NULL))
        continue;
    all = pool->all;
    pool->all = NULL;
    hub_mutex_unlock(&pool->lock);
    join(all);
}
