/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/parked_calls.h"

#include "host/call/asyncs.h"
#include "hub/base/clock.h"

void host_parked_calls_init(struct host_parked_calls *calls)
{
    hub_list_init(&calls->all);
    for (uint32_t i = 0; i < HOST_PARKED_BUCKETS; i++)
        hub_list_init(&calls->full[i]);
}

/* The bucket of all calls of one side to one container. */
static uint32_t bucket_of(const struct host_async *async)
{
    uint64_t mixed = (uint64_t)async->target.pool.major << 32 | async->target.pool.minor;

    mixed = (mixed ^ async->target.container) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ async->foreign ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) % HOST_PARKED_BUCKETS;
}

void host_parked_calls_append(struct host_parked_calls *calls, struct host_async *async)
{
    hub_list_append(&calls->all, &async->parked);
    if (async->full)
        hub_list_append(&calls->full[bucket_of(async)], &async->parked_full);
    else
        hub_list_init(&async->parked_full);
}

struct host_async *host_parked_calls_pop(struct host_parked_calls *calls)
{
    struct hub_list *link = hub_list_pop(&calls->all);
    struct host_async *async = link ? HUB_LIST_ITEM(link, struct host_async, parked) : NULL;

    if (async)
        hub_list_remove(&async->parked_full);
    return async;
}

void host_parked_calls_take_all(struct host_parked_calls *calls, struct hub_list *round)
{
    for (struct host_async *async; (async = host_parked_calls_pop(calls));)
        hub_list_append(round, &async->parked);
}

static bool same_target(const struct host_async *a, const struct host_async *b)
{
    return a->target.pool.major == b->target.pool.major &&
           a->target.pool.minor == b->target.pool.minor &&
           a->target.container == b->target.container;
}

bool host_parked_calls_queue(const struct host_parked_calls *calls, const struct host_async *async)
{
    HUB_LIST_EACH (&calls->full[bucket_of(async)], link) {
        const struct host_async *older = HUB_LIST_ITEM(link, struct host_async, parked_full);

        if (older->foreign == async->foreign && same_target(older, async))
            return true;
    }
    return false;
}

uint64_t host_parked_calls_deadline(const struct host_parked_calls *calls, bool *out_full)
{
    uint64_t next = HUB_NEVER;

    *out_full = false;
    HUB_LIST_EACH (&calls->all, link) {
        const struct host_async *async = HUB_LIST_ITEM(link, struct host_async, parked);

        if (async->deadline_ns < next)
            next = async->deadline_ns;
        *out_full = *out_full || async->full;
    }
    return next;
}
