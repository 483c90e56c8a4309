/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/loans.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/corks.h"
#include "host/call/route_cache.h"
#include "host/call/route_wait.h"
#include "hub/base/clock.h"

#define LINE 64

/* The record of a loan. It is reused after the loan is dropped, so a handle names it with its
 * serial. */
struct host_loan {
    void *free_list; /* the link of the free list, while the record is in it */
    struct hub_list link;
    struct hub_a64 serial;  /* 0: dropped */
    uint64_t last;          /* the last serial used */
    struct host_life *life; /* NULL: the target is the host itself, and the memory our own */
    struct hub_loan slot;
    void *own;
};

void host_loans_open(struct host_loans *loans)
{
    hub_mutex_init(&loans->lock, HUB_MUTEX_LOANS);
    host_free_list_open(&loans->spare);
    hub_mutex_lock(&loans->lock);
    hub_list_init(&loans->all);
    hub_mutex_unlock(&loans->lock);
}

/* Stores a record for the next loan. Most threads use one loan at a time, so each keeps one record
 * for itself. */
static void give_back(struct host_call *host, struct host_caller *caller, struct host_loan *loan)
{
    if (caller && !caller->piece) {
        caller->piece = loan;
        caller->free_list = &host->loans.spare;
        return;
    }
    host_free_list_give(&host->loans.spare, loan);
}

static __attribute__((noinline)) struct host_loan *new_record(struct host_loans *loans)
{
    struct host_loan *loan = host_free_list_pop(&loans->spare);

    if (loan)
        return loan;
    loan = calloc(1, sizeof *loan);
    if (!loan)
        return NULL;
    hub_mutex_lock(&loans->lock);
    hub_list_append(&loans->all, &loan->link);
    hub_mutex_unlock(&loans->lock);
    return loan;
}

static struct host_loan *take_record(struct host_call *host, struct host_caller *caller)
{
    struct host_loan *loan = caller ? caller->piece : NULL;

    if (!loan)
        return new_record(&host->loans);
    caller->piece = NULL;
    return loan;
}

/* Releases the slot, life and memory that the loan still holds. */
static void release(struct host_loan *loan)
{
    if (loan->life) {
        hub_loan_drop(loan->life->connection.link, &loan->slot);
        host_life_drop(loan->life);
    }
    if (loan->own)
        free(loan->own);
}

/* The list contains the records of threads and of the free list, too. */
void host_loans_close(struct host_loans *loans)
{
    struct hub_list *link;

    host_free_list_close(&loans->spare);
    hub_mutex_lock(&loans->lock);
    while ((link = hub_list_pop(&loans->all))) {
        struct host_loan *loan = HUB_LIST_ITEM(link, struct host_loan, link);

        if (hub_load_relaxed64(&loan->serial) != 0)
            release(loan);
        free(loan);
    }
    hub_mutex_unlock(&loans->lock);
}

/* Returns NULL for a loan that is gone, also if the handle is a copy. */
static struct host_loan *loan_of(const struct rapahub_loan *loan)
{
    struct host_loan *own = (struct host_loan *)(uintptr_t)loan->handle[0];

    return own && hub_load_relaxed64(&own->serial) == loan->handle[1] ? own : NULL;
}

/* A loan for a service is ordinary memory: its method reads the caller's memory in any case. */
static int take_own(size_t size, struct host_loan *loan)
{
    loan->own = aligned_alloc(LINE, (size / LINE + 1) * LINE);
    if (!loan->own)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a loan of %zu bytes", size);
    loan->slot = (struct hub_loan){.data = loan->own, .room = size};
    return 0;
}

/* This thread uses the route, so it may hold the life without the lock of routes. */
static int fill(const struct host_route *route, size_t size, struct host_loan *loan)
{
    int r;

    if (route->container->offer)
        return take_own(size, loan);
    r = hub_loan_take(route->life->connection.link, size, &loan->slot);
    if (r == -EAGAIN)
        return rapahub_fail(RAPAHUB_EAGAIN, "", "%s has no slot for %zu bytes now", route->name,
                            size);
    if (r < 0)
        return r;
    loan->life = route->life;
    host_life_hold(loan->life);
    return 0;
}

/* r[impl hub.route.loan] */
static int refuse_away(struct rapahub_container_id target)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    return rapahub_fail(RAPAHUB_ENOTLOCAL, "hub.route.loan",
                        "the calls of container %s go to the router, which takes no loan",
                        host_containers_print(target, id));
}

static int find_target(struct host_call *host, struct rapahub_container_id target,
                       struct host_route *route)
{
    uint64_t deadline = hub_clock_after(host->process.options.call_timeout_ns);
    int r;

    while ((r = host_route_find_call(host, target, false, route)) == -EAGAIN) {
        r = host_route_wait(host, route, deadline);
        host_route_drop(route);
        if (r < 0)
            return r;
    }
    return r == HOST_ROUTE_AWAY ? refuse_away(target) : r;
}

/* Acquires a slot by the route cache. If that fails, the general path finds the reason. */
static bool take_cached(struct host_call *host, struct host_route_use use,
                        struct rapahub_container_id target, size_t size, struct host_loan *loan)
{
    bool taken;

    if (!host_route_cache_enter_as(host, target, &use))
        return false;
    loan->life = host_caller_life(use.caller);
    taken = hub_loan_take(loan->life->connection.link, size, &loan->slot) == 0;
    if (taken)
        host_life_hold(loan->life);
    else
        loan->life = NULL;
    host_route_cache_leave(host, &use);
    return taken;
}

static __attribute__((noinline)) int take(struct host_call *host,
                                          struct rapahub_container_id target, size_t size,
                                          struct host_loan *loan)
{
    struct host_route route;
    int r = find_target(host, target, &route);

    if (r == 0)
        r = fill(&route, size, loan);
    host_route_drop(&route);
    return r;
}

__attribute__((flatten)) int host_loans_take(struct host_call *host,
                                             struct rapahub_container_id target, size_t size,
                                             struct rapahub_loan *out)
{
    struct host_caller *caller = host_caller_get(&HOST_REGISTRY(host)->callers);
    struct host_loan *loan = take_record(host, caller);
    int r = 0;

    if (!loan) {
        *out = (struct rapahub_loan){.data = NULL};
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a loan");
    }
    loan->life = NULL;
    loan->own = NULL;
    if (!take_cached(host, (struct host_route_use){.caller = caller}, target, size, loan))
        r = take(host, target, size, loan);
    if (r == -EAGAIN)
        host_corks_push(host); /* calls that are held back may occupy the slots */
    if (r < 0) {
        *out = (struct rapahub_loan){.data = NULL};
        give_back(host, caller, loan);
        return r;
    }
    hub_store_relaxed64(&loan->serial, ++loan->last);
    *out = (struct rapahub_loan){.data = loan->slot.data,
                                 .size = loan->slot.room,
                                 .handle = {(uint64_t)(uintptr_t)loan, loan->last}};
    return 0;
}

static void forget(struct host_loan *own, struct rapahub_loan *loan)
{
    *loan = (struct rapahub_loan){.data = NULL};
    hub_store_relaxed64(&own->serial, 0);
}

void host_loans_drop(struct host_call *host, struct rapahub_loan *loan)
{
    struct host_loan *own = loan_of(loan);

    if (!own) {
        *loan = (struct rapahub_loan){.data = NULL};
        return;
    }
    forget(own, loan);
    release(own);
    give_back(host, host_caller_get(&HOST_REGISTRY(host)->callers), own);
}

static bool lies_in(const struct host_loan *own, const struct rapahub_bytes *last)
{
    return own && own->slot.data && last->data == own->slot.data && last->size <= own->slot.room;
}

struct hub_loan *host_loans_of(const struct rapahub_loan *loan, const struct host_life *life,
                               const struct rapahub_bytes *last)
{
    struct host_loan *own = loan_of(loan);

    return lies_in(own, last) && own->life == life ? &own->slot : NULL;
}

int host_loans_find(const struct rapahub_loan *loan, const struct host_route *route,
                    const struct rapahub_bytes *last, struct hub_loan **out)
{
    struct host_loan *own = loan_of(loan);

    *out = NULL;
    if (!lies_in(own, last))
        return rapahub_fail(RAPAHUB_EINVAL, "hub.loan.align",
                            "the last argument is not what begins where the loan does");
    if (own->life != route->life)
        return rapahub_fail(RAPAHUB_ESTALE, "hub.loan.align",
                            "the loan is of a life of %s that is over", route->name);
    if (own->life)
        *out = &own->slot;
    return 0;
}

/* A loan that was sent has no memory any more, only the life. */
struct host_life *host_loans_inherit(struct host_call *host, struct host_caller *caller,
                                     struct rapahub_loan *loan)
{
    struct host_loan *own = loan_of(loan);
    struct host_life *life;

    if (!own || own->slot.data)
        return NULL;
    life = own->life;
    forget(own, loan);
    give_back(host, caller, own);
    return life;
}

void host_loans_settle(struct host_call *host, struct rapahub_loan *loan)
{
    struct host_loan *own = loan_of(loan);

    if (own && !own->slot.data)
        host_loans_drop(host, loan);
}
