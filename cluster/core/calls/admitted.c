/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/admitted.h"

#include <rapahub/error.h>

#include "hub/base/check.h"

int cluster_admitted_init(struct cluster_admitted *all, const struct cluster_limits *limits,
                          uint64_t secret)
{
    *all = (struct cluster_admitted){.limits = *limits};
    if (cluster_table_init(&all->histories, limits->containers,
                           sizeof(struct cluster_admitted_history)) == 0 &&
        cluster_table_init(&all->shares, limits->dedup, sizeof(struct cluster_admitted_share)) ==
            0 &&
        cluster_table_init(&all->origins, limits->dedup, sizeof(struct cluster_admitted_origin)) ==
            0 &&
        cluster_table_init(&all->calls, limits->dedup, sizeof(struct cluster_admitted_call)) == 0 &&
        cluster_index_init(&all->by_container, limits->containers, secret) == 0 &&
        cluster_index_init(&all->by_peer, limits->dedup, secret) == 0 &&
        cluster_index_init(&all->by_origin, limits->dedup, secret) == 0 &&
        cluster_index_init(&all->by_uid, limits->dedup, secret) == 0 &&
        cluster_index_init(&all->by_chain, limits->dedup, secret) == 0)
        return 0;
    cluster_admitted_fini(all);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the calls of %u containers",
                        limits->containers);
}

void cluster_admitted_fini(struct cluster_admitted *all)
{
    struct cluster_table *tables[] = {&all->histories, &all->shares, &all->origins, &all->calls};
    struct cluster_index *indexes[] = {&all->by_container, &all->by_peer, &all->by_origin,
                                       &all->by_uid, &all->by_chain};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        cluster_table_fini(tables[i]);
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
        cluster_index_fini(indexes[i]);
}

struct cluster_admitted_history *cluster_admitted_at(const struct cluster_admitted *all,
                                                     uint32_t place)
{
    return cluster_table_at(&all->histories, place);
}

struct cluster_admitted_origin *cluster_admitted_origin_at(const struct cluster_admitted *all,
                                                           uint32_t place)
{
    return cluster_table_at(&all->origins, place);
}

struct cluster_admitted_call *cluster_admitted_call_at(const struct cluster_admitted *all,
                                                       uint32_t place)
{
    return cluster_table_at(&all->calls, place);
}

static struct cluster_admitted_share *share_at(const struct cluster_admitted *all, uint32_t place)
{
    return cluster_table_at(&all->shares, place);
}

/* ---- looking up ---- */

uint64_t cluster_admitted_peer(const struct cluster_admitted *all, uint32_t origin)
{
    uint32_t share = cluster_admitted_origin_at(all, origin)->share;

    return share != 0 ? share_at(all, share)->peer : 0;
}

uint32_t cluster_admitted_find(const struct cluster_admitted *all, uint64_t pool,
                               uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t hash = cluster_index_hash(&all->by_container, pool, container, 0);
    uint32_t place = cluster_index_first(&all->by_container, hash, &cursor);

    for (; place != 0; place = cluster_index_next(&all->by_container, &cursor)) {
        const struct cluster_admitted_history *history = cluster_admitted_at(all, place);

        if (history->pool == pool && history->container == container)
            break;
    }
    return place;
}

uint32_t cluster_admitted_find_origin(const struct cluster_admitted *all, uint32_t history,
                                      uint64_t origin)
{
    struct cluster_index_cursor cursor;
    uint32_t hash = cluster_index_hash(&all->by_origin, history, origin, 0);
    uint32_t place = cluster_index_first(&all->by_origin, hash, &cursor);

    for (; place != 0; place = cluster_index_next(&all->by_origin, &cursor)) {
        const struct cluster_admitted_origin *row = cluster_admitted_origin_at(all, place);

        if (row->history == history && row->origin == origin)
            break;
    }
    return place;
}

uint32_t cluster_admitted_find_call(const struct cluster_admitted *all, uint32_t origin,
                                    uint64_t number)
{
    struct cluster_index_cursor cursor;
    uint32_t hash = cluster_index_hash(&all->by_uid, origin, number, 0);
    uint32_t place = cluster_index_first(&all->by_uid, hash, &cursor);

    for (; place != 0; place = cluster_index_next(&all->by_uid, &cursor)) {
        const struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);

        if (call->origin == origin && call->uid.number == number)
            break;
    }
    return place;
}

static uint32_t find_share(const struct cluster_admitted *all, uint32_t history, uint64_t peer)
{
    struct cluster_index_cursor cursor;
    uint32_t hash = cluster_index_hash(&all->by_peer, history, peer, 0);
    uint32_t place = cluster_index_first(&all->by_peer, hash, &cursor);

    for (; place != 0; place = cluster_index_next(&all->by_peer, &cursor)) {
        const struct cluster_admitted_share *share = share_at(all, place);

        if (share->history == history && share->peer == peer)
            break;
    }
    return place;
}

/* ---- adding ---- */

uint32_t cluster_admitted_add(struct cluster_admitted *all, uint64_t pool, uint32_t container)
{
    uint32_t place = cluster_table_take(&all->histories);

    if (place == 0)
        return 0;
    *cluster_admitted_at(all, place) =
        (struct cluster_admitted_history){.pool = pool, .container = container};
    cluster_index_put(&all->by_container,
                      cluster_index_hash(&all->by_container, pool, container, 0), place);
    return place;
}

/* There are as many shares as origins, and each has an origin: there is space. */
static uint32_t join_share(struct cluster_admitted *all, uint32_t history, uint64_t peer)
{
    uint32_t place = find_share(all, history, peer);

    if (place == 0) {
        place = cluster_table_take(&all->shares);
        *share_at(all, place) = (struct cluster_admitted_share){.peer = peer, .history = history};
        cluster_index_put(&all->by_peer, cluster_index_hash(&all->by_peer, history, peer, 0),
                          place);
    }
    share_at(all, place)->origins++;
    return place;
}

uint32_t cluster_admitted_add_origin(struct cluster_admitted *all, uint32_t history,
                                     uint64_t origin, uint64_t peer)
{
    uint32_t place = cluster_table_take(&all->origins);
    uint32_t first = cluster_admitted_at(all, history)->origins;

    if (place == 0)
        return 0;
    *cluster_admitted_origin_at(all, place) =
        (struct cluster_admitted_origin){.origin = origin,
                                         .history = history,
                                         .share = peer != 0 ? join_share(all, history, peer) : 0,
                                         .next = first};
    if (first != 0)
        cluster_admitted_origin_at(all, first)->previous = place;
    cluster_admitted_at(all, history)->origins = place;
    cluster_index_put(&all->by_origin, cluster_index_hash(&all->by_origin, history, origin, 0),
                      place);
    return place;
}

static void count(struct cluster_admitted *all, uint32_t origin_place, int32_t calls,
                  uint64_t weight)
{
    const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, origin_place);
    struct cluster_admitted_history *history = cluster_admitted_at(all, origin->history);

    all->bytes += weight;
    history->bytes += weight;
    history->calls += (uint32_t)calls;
    if (origin->share != 0) {
        share_at(all, origin->share)->bytes += weight;
        share_at(all, origin->share)->calls += (uint32_t)calls;
    }
}

/* Most calls come in the order of their numbers, so the place of one is sought from the last. */
static void link_call(struct cluster_admitted *all, uint32_t place)
{
    struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);
    struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, call->origin);

    call->previous = origin->last;
    while (call->previous != 0 &&
           cluster_admitted_call_at(all, call->previous)->uid.number > call->uid.number) {
        call->next = call->previous;
        call->previous = cluster_admitted_call_at(all, call->previous)->previous;
    }
    *(call->previous != 0 ? &cluster_admitted_call_at(all, call->previous)->next : &origin->first) =
        place;
    *(call->next != 0 ? &cluster_admitted_call_at(all, call->next)->previous : &origin->last) =
        place;
}

uint32_t cluster_admitted_add_call(struct cluster_admitted *all, uint32_t origin, uint64_t number,
                                   uint64_t weight)
{
    uint32_t place = cluster_table_take(&all->calls);

    if (place == 0)
        return 0;
    *cluster_admitted_call_at(all, place) = (struct cluster_admitted_call){
        .number = ++all->admitted << 32 | place,
        .uid = {cluster_admitted_origin_at(all, origin)->origin, number},
        .weight = weight,
        .origin = origin};
    link_call(all, place);
    cluster_index_put(&all->by_uid, cluster_index_hash(&all->by_uid, origin, number, 0), place);
    count(all, origin, 1, weight);
    return place;
}

void cluster_admitted_weigh(struct cluster_admitted *all, uint32_t place, uint64_t weight)
{
    struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);

    count(all, call->origin, 0, weight - call->weight);
    call->weight = weight;
}

/* ---- calls that run, and calls whose end is held ---- */

static struct cluster_admitted_history *history_of(const struct cluster_admitted *all,
                                                   const struct cluster_admitted_call *call)
{
    return cluster_admitted_at(all, cluster_admitted_origin_at(all, call->origin)->history);
}

static uint32_t chain_hash(const struct cluster_admitted *all,
                           const struct cluster_admitted_call *call)
{
    return cluster_index_hash(
        &all->by_chain, cluster_admitted_origin_at(all, call->origin)->history, call->chain, 0);
}

void cluster_admitted_start(struct cluster_admitted *all, uint32_t place, uint64_t chain)
{
    struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);

    call->chain = chain;
    history_of(all, call)->running++;
    cluster_index_put(&all->by_chain, chain_hash(all, call), place);
}

void cluster_admitted_stop(struct cluster_admitted *all, uint32_t place)
{
    const struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);

    history_of(all, call)->running--;
    cluster_index_remove(&all->by_chain, chain_hash(all, call), place);
}

bool cluster_admitted_chain_runs(const struct cluster_admitted *all, uint32_t history,
                                 uint64_t chain)
{
    struct cluster_index_cursor cursor;
    uint32_t hash = cluster_index_hash(&all->by_chain, history, chain, 0);
    uint32_t place = cluster_index_first(&all->by_chain, hash, &cursor);

    for (; place != 0; place = cluster_index_next(&all->by_chain, &cursor)) {
        const struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);

        if (call->chain == chain &&
            cluster_admitted_origin_at(all, call->origin)->history == history)
            return true;
    }
    return false;
}

void cluster_admitted_hold(struct cluster_admitted *all, uint32_t place)
{
    struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);
    struct cluster_admitted_history *history = history_of(all, call);

    call->held = true;
    call->next_held = 0;
    call->previous_held = history->last_held;
    *(history->last_held != 0 ? &cluster_admitted_call_at(all, history->last_held)->next_held
                              : &history->first_held) = place;
    history->last_held = place;
    history->held++;
}

void cluster_admitted_let_go(struct cluster_admitted *all, uint32_t place)
{
    struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);
    struct cluster_admitted_history *history = history_of(all, call);

    call->held = false;
    *(call->previous_held != 0 ? &cluster_admitted_call_at(all, call->previous_held)->next_held
                               : &history->first_held) = call->next_held;
    *(call->next_held != 0 ? &cluster_admitted_call_at(all, call->next_held)->previous_held
                           : &history->last_held) = call->previous_held;
    history->held--;
}

/* The first of all is looked at when it may be due, and so are the others then. */
void cluster_admitted_note_until(struct cluster_admitted *all, uint32_t origin, uint64_t until_ns)
{
    struct cluster_admitted_origin *row = cluster_admitted_origin_at(all, origin);

    if (until_ns == 0 || until_ns > row->until_ns)
        row->until_ns = until_ns;
    if (until_ns != 0 && (all->distant_ns == 0 || until_ns < all->distant_ns))
        all->distant_ns = until_ns;
}

/* ---- limits ---- */

/* A peer has only a part of what a container remembers, so that none fills it alone. */
static const char *share_full(const struct cluster_admitted *all, uint32_t place, uint32_t calls,
                              uint64_t weight)
{
    const struct cluster_admitted_share *share = share_at(all, place);

    if (calls + share->calls > all->limits.dedup_container / CLUSTER_ADMITTED_PARTS)
        return "the calls that a container remembers of one peer";
    return weight > all->limits.dedup_container_bytes / CLUSTER_ADMITTED_PARTS - share->bytes
               ? "the bytes of the calls that a container remembers of one peer"
               : NULL;
}

const char *cluster_admitted_full(const struct cluster_admitted *all, uint32_t place,
                                  uint32_t calls, uint64_t weight)
{
    const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, place);
    const struct cluster_admitted_history *history = cluster_admitted_at(all, origin->history);
    const struct cluster_limits *limits = &all->limits;

    if (calls + all->calls.count > limits->dedup)
        return "the calls that a node remembers";
    if (weight > limits->dedup_bytes - all->bytes)
        return "the bytes of the calls that a node remembers";
    if (calls + history->calls > limits->dedup_container)
        return "the calls that a container remembers";
    if (weight > limits->dedup_container_bytes - history->bytes)
        return "the bytes of the calls that a container remembers";
    return origin->share != 0 ? share_full(all, origin->share, calls, weight) : NULL;
}

/* ---- removing ---- */

void cluster_admitted_remove_call(struct cluster_admitted *all, uint32_t place)
{
    const struct cluster_admitted_call *call = cluster_admitted_call_at(all, place);
    struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, call->origin);

    *(call->previous != 0 ? &cluster_admitted_call_at(all, call->previous)->next : &origin->first) =
        call->next;
    *(call->next != 0 ? &cluster_admitted_call_at(all, call->next)->previous : &origin->last) =
        call->previous;
    count(all, call->origin, -1, -call->weight);
    cluster_index_remove(
        &all->by_uid, cluster_index_hash(&all->by_uid, call->origin, call->uid.number, 0), place);
    cluster_table_give(&all->calls, place);
}

static void leave_share(struct cluster_admitted *all, uint32_t place)
{
    struct cluster_admitted_share *share = share_at(all, place);

    if (--share->origins > 0)
        return;
    cluster_index_remove(&all->by_peer,
                         cluster_index_hash(&all->by_peer, share->history, share->peer, 0), place);
    cluster_table_give(&all->shares, place);
}

void cluster_admitted_remove_origin(struct cluster_admitted *all, uint32_t place)
{
    const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, place);
    struct cluster_admitted_history *history = cluster_admitted_at(all, origin->history);

    CHECK(origin->first == 0);
    *(origin->previous != 0 ? &cluster_admitted_origin_at(all, origin->previous)->next
                            : &history->origins) = origin->next;
    if (origin->next != 0)
        cluster_admitted_origin_at(all, origin->next)->previous = origin->previous;
    if (origin->share != 0)
        leave_share(all, origin->share);
    cluster_index_remove(&all->by_origin,
                         cluster_index_hash(&all->by_origin, origin->history, origin->origin, 0),
                         place);
    cluster_table_give(&all->origins, place);
}

void cluster_admitted_remove(struct cluster_admitted *all, uint32_t place)
{
    const struct cluster_admitted_history *history = cluster_admitted_at(all, place);

    CHECK(history->origins == 0);
    cluster_index_remove(
        &all->by_container,
        cluster_index_hash(&all->by_container, history->pool, history->container, 0), place);
    cluster_table_give(&all->histories, place);
}

/* ---- a check of everything ---- */

struct sums {
    uint64_t bytes;
    uint32_t calls;
};

static bool sum_origin(const struct cluster_admitted *all, uint32_t place, struct sums *sums)
{
    const struct cluster_admitted_origin *origin = cluster_admitted_origin_at(all, place);
    uint64_t number = 0;

    for (uint32_t at = origin->first; at != 0; at = cluster_admitted_call_at(all, at)->next) {
        const struct cluster_admitted_call *call = cluster_admitted_call_at(all, at);

        if (call->origin != place || call->uid.number <= number)
            return false;
        number = call->uid.number;
        sums->calls++;
        sums->bytes += call->weight;
    }
    return true;
}

static bool sum_history(const struct cluster_admitted *all, uint32_t place, struct sums *sums)
{
    const struct cluster_admitted_history *history = cluster_admitted_at(all, place);
    struct sums own = {0};

    for (uint32_t at = history->origins; at != 0; at = cluster_admitted_origin_at(all, at)->next)
        if (!sum_origin(all, at, &own))
            return false;
    sums->calls += own.calls;
    sums->bytes += own.bytes;
    return own.calls == history->calls && own.bytes == history->bytes &&
           history->running <= history->calls && history->held <= history->calls &&
           own.calls <= all->limits.dedup_container &&
           own.bytes <= all->limits.dedup_container_bytes;
}

bool cluster_admitted_is_sound(const struct cluster_admitted *all)
{
    struct sums sums = {0};
    uint32_t place = 0;

    while ((place = cluster_table_after(&all->histories, place)) != 0)
        if (!sum_history(all, place, &sums))
            return false;
    return sums.calls == all->calls.count && sums.bytes == all->bytes &&
           all->bytes <= all->limits.dedup_bytes;
}
