/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/unheard.h"

#include "cluster/core/base/timers.h"
#include "cluster/core/calls/admitted.h"

static struct cluster_admitted *rows_of(struct cluster_dedup *dedup)
{
    struct cluster_payload *payload;

    return cluster_dedup_rows(dedup, &payload);
}

void cluster_unheard_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                           uint64_t now_ns)
{
    struct cluster_admitted *all = rows_of(dedup);
    uint32_t place = cluster_admitted_find(all, pool, container);
    uint64_t at = now_ns + CLUSTER_UNHEARD_CLIENT_NS;

    if (place == 0)
        return;
    cluster_admitted_at(all, place)->restored_ns = now_ns;
    if (all->unheard_ns == 0 || at < all->unheard_ns)
        all->unheard_ns = at;
}

/* A deadline may be never. */
static uint64_t over_at(uint64_t until_ns)
{
    return until_ns < CLUSTER_TIMERS_NEVER - CLUSTER_UNHEARD_CLIENT_NS
               ? until_ns + CLUSTER_UNHEARD_CLIENT_NS
               : CLUSTER_TIMERS_NEVER;
}

uint64_t cluster_unheard_next(struct cluster_dedup *dedup)
{
    const struct cluster_admitted *all = rows_of(dedup);
    uint64_t at = all->unheard_ns != 0 ? all->unheard_ns : CLUSTER_TIMERS_NEVER;
    uint64_t distant = all->distant_ns != 0 ? over_at(all->distant_ns) : CLUSTER_TIMERS_NEVER;

    return at < distant ? at : distant;
}

/* None of its calls runs, and none is held: they are as they were restored. */
static void forget(struct cluster_dedup *dedup, uint32_t origin)
{
    struct cluster_payload *payload;
    struct cluster_admitted *all = cluster_dedup_rows(dedup, &payload);
    uint32_t place;

    while ((place = cluster_admitted_origin_at(all, origin)->first) != 0) {
        if (cluster_admitted_call_at(all, place)->payload != 0)
            cluster_payload_drop(payload, cluster_admitted_call_at(all, place)->payload);
        cluster_admitted_remove_call(all, place);
    }
    cluster_admitted_remove_origin(all, origin);
}

/* Returns when the next origin of a container is due, or 0: none is left. */
static uint64_t forget_due(struct cluster_dedup *dedup, uint32_t history, uint64_t now_ns)
{
    const struct cluster_admitted *all = rows_of(dedup);
    uint64_t restored = cluster_admitted_at(all, history)->restored_ns, next = 0;
    uint32_t place = cluster_admitted_at(all, history)->origins;

    while (place != 0) {
        const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, place);
        uint64_t at = restored + (cluster_ids_is_client(origin->origin) ? CLUSTER_UNHEARD_CLIENT_NS
                                                                        : CLUSTER_UNHEARD_OTHER_NS);
        uint32_t after = origin->next;

        if (origin->unheard && now_ns >= at)
            forget(dedup, place);
        else if (origin->unheard && (next == 0 || at < next))
            next = at;
        place = after;
    }
    return next;
}

/* ---- origins whose calls come by another node ---- */

static bool is_at_rest(const struct cluster_admitted *all, uint32_t origin)
{
    uint32_t place = cluster_admitted_origin_at(all, origin)->first;

    for (; place != 0; place = cluster_admitted_call_at(all, place)->next)
        if (cluster_admitted_call_at(all, place)->state == CLUSTER_DEDUP_RUNNING ||
            cluster_admitted_call_at(all, place)->held)
            return false;
    return true;
}

/* Returns the deadline of the origin of a container that is over next, or NEVER: none is left. An
 * origin that is over but has calls that run is looked at later. */
static uint64_t forget_over(struct cluster_dedup *dedup, uint32_t history, uint64_t now_ns)
{
    const struct cluster_admitted *all = rows_of(dedup);
    uint64_t next = CLUSTER_TIMERS_NEVER;
    uint32_t place = cluster_admitted_at(all, history)->origins;

    while (place != 0) {
        const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, place);
        uint32_t after = origin->next;
        uint64_t until = origin->until_ns;

        if (until != 0 && now_ns >= over_at(until) && is_at_rest(all, place))
            forget(dedup, place);
        else if (until != 0 && until < next)
            next = until;
        place = after;
    }
    return next;
}

/* r[impl cluster.peer.origins] */
static void tick_distant(struct cluster_dedup *dedup, uint64_t now_ns)
{
    struct cluster_admitted *all = rows_of(dedup);
    uint64_t next = CLUSTER_TIMERS_NEVER;
    uint64_t least = now_ns - CLUSTER_UNHEARD_CLIENT_NS + CLUSTER_UNHEARD_LOOK_NS;
    uint32_t place = 0;

    if (all->distant_ns == 0 || now_ns < over_at(all->distant_ns))
        return;
    while ((place = cluster_table_after(&all->histories, place)) != 0) {
        uint64_t until = forget_over(dedup, place, now_ns);

        next = until < next ? until : next;
    }
    all->distant_ns = next == CLUSTER_TIMERS_NEVER ? 0 : next > least ? next : least;
}

/* ---- origins that came with a copy ---- */

/* r[impl cluster.dedup.unheard] */
static void tick_restored(struct cluster_dedup *dedup, uint64_t now_ns)
{
    struct cluster_admitted *all = rows_of(dedup);
    uint64_t next = 0;
    uint32_t place = 0;

    if (all->unheard_ns == 0 || now_ns < all->unheard_ns)
        return;
    while ((place = cluster_table_after(&all->histories, place)) != 0) {
        struct cluster_admitted_history *history = cluster_admitted_at(all, place);
        uint64_t at = history->restored_ns != 0 ? forget_due(dedup, place, now_ns) : 0;

        if (at == 0)
            history->restored_ns = 0;
        else if (next == 0 || at < next)
            next = at;
    }
    all->unheard_ns = next;
}

void cluster_unheard_tick(struct cluster_dedup *dedup, uint64_t now_ns)
{
    tick_restored(dedup, now_ns);
    tick_distant(dedup, now_ns);
}
