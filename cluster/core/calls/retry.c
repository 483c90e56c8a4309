/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/retry.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "cluster/core/base/timers.h"
#include "hub/base/check.h"

const struct hub_states cluster_retry_states = {
    "cluster.retry",
    {[CLUSTER_RETRY_WAITING] = {"WAITING", HUB_TO(CLUSTER_RETRY_TRIED)},
     [CLUSTER_RETRY_TRIED] = {"TRIED", HUB_TO(CLUSTER_RETRY_WAITING)}}};

enum { TIMER_FLOW, TIMER_DEADLINE };

struct flow { /* it is there while a call of it is */
    struct cluster_order_key key;
    uint64_t timer;       /* for the next attempt of its first call; 0: that is under way */
    uint64_t bound_ns;    /* the next delay's */
    uint32_t first, last; /* rows */
};

struct row {
    uint64_t id; /* counts up; the place is its lower half */
    struct cluster_retry_call call;
    uint64_t timer; /* for its deadline */
    uint32_t flow;
    uint32_t next, previous;
    uint32_t state;
};

struct cluster_retry {
    struct cluster_limits limits;
    struct cluster_table flows, rows;
    struct cluster_index by_key, by_container;
    struct cluster_timers *timers;
    struct hub_random *random;
    uint64_t added, bytes;
};

static int init(struct cluster_retry *retry, uint64_t secret)
{
    uint32_t max = retry->limits.retries;

    if (cluster_table_init(&retry->flows, max, sizeof(struct flow)) == 0 &&
        cluster_table_init(&retry->rows, max, sizeof(struct row)) == 0 &&
        cluster_index_init(&retry->by_key, max, secret) == 0 &&
        cluster_index_init(&retry->by_container, max, secret) == 0 &&
        cluster_timers_create(2 * max, &retry->timers) == 0)
        return 0;
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u calls that are tried again", max);
}

int cluster_retry_create(const struct cluster_limits *limits, struct hub_random *random,
                         struct cluster_retry **out)
{
    int status;

    *out = calloc(1, sizeof **out);
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for calls that are tried again");
    (*out)->limits = *limits;
    (*out)->random = random;
    status = init(*out, hub_random_next(random));
    if (status < 0)
        cluster_retry_release(out);
    return status;
}

void cluster_retry_release(struct cluster_retry **retry)
{
    if (*retry) {
        cluster_timers_release(&(*retry)->timers);
        cluster_index_fini(&(*retry)->by_container);
        cluster_index_fini(&(*retry)->by_key);
        cluster_table_fini(&(*retry)->rows);
        cluster_table_fini(&(*retry)->flows);
    }
    free(*retry);
    *retry = NULL;
}

static struct flow *flow_at(const struct cluster_retry *retry, uint32_t place)
{
    return cluster_table_at(&retry->flows, place);
}

static struct row *row_at(const struct cluster_retry *retry, uint32_t place)
{
    return cluster_table_at(&retry->rows, place);
}

/* ---- flows ---- */

static uint32_t key_hash(const struct cluster_retry *retry, const struct cluster_order_key *key)
{
    return cluster_index_hash(&retry->by_key, key->pool, key->origin,
                              (uint64_t)key->container << 32 | key->order);
}

static uint32_t container_hash(const struct cluster_retry *retry, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&retry->by_container, pool, container, 0);
}

static bool is_same(const struct cluster_order_key *one, const struct cluster_order_key *other)
{
    return one->pool == other->pool && one->origin == other->origin &&
           one->container == other->container && one->order == other->order;
}

static uint32_t seek(const struct cluster_retry *retry, const struct cluster_order_key *key)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&retry->by_key, key_hash(retry, key), &cursor);

    while (place != 0 && !is_same(&flow_at(retry, place)->key, key))
        place = cluster_index_next(&retry->by_key, &cursor);
    return place;
}

static void set_flow(struct cluster_retry *retry, uint32_t place, uint64_t at_ns)
{
    struct flow *flow = flow_at(retry, place);

    (void)cluster_timers_clear(retry->timers, flow->timer);
    flow->timer = cluster_timers_set(
        retry->timers,
        &(struct cluster_timer){.at_ns = at_ns, .number = place, .kind = TIMER_FLOW});
}

/* The bound doubles with each delay that is drawn below it. */
static void delay_flow(struct cluster_retry *retry, uint32_t place, uint64_t now_ns)
{
    struct flow *flow = flow_at(retry, place);
    uint64_t bound = flow->bound_ns;

    flow->bound_ns = bound < CLUSTER_RETRY_MOST_NS / 2 ? 2 * bound : CLUSTER_RETRY_MOST_NS;
    set_flow(retry, place, now_ns + hub_random_below(retry->random, bound + 1));
}

static uint64_t first_bound(uint32_t tries)
{
    uint64_t bound = CLUSTER_RETRY_FIRST_NS;

    for (; tries > 0 && bound < CLUSTER_RETRY_MOST_NS; tries--)
        bound *= 2;
    return bound < CLUSTER_RETRY_MOST_NS ? bound : CLUSTER_RETRY_MOST_NS;
}

/* A flow has a row, so there is space for as many. */
static uint32_t add_flow(struct cluster_retry *retry, const struct cluster_order_key *key,
                         uint32_t tries, uint64_t now_ns)
{
    uint32_t place = cluster_table_take(&retry->flows);
    struct flow *flow = flow_at(retry, place);

    flow->key = *key;
    flow->bound_ns = first_bound(tries);
    cluster_index_put(&retry->by_key, key_hash(retry, key), place);
    cluster_index_put(&retry->by_container, container_hash(retry, key->pool, key->container),
                      place);
    delay_flow(retry, place, now_ns);
    return place;
}

static void remove_flow(struct cluster_retry *retry, uint32_t place)
{
    struct flow *flow = flow_at(retry, place);

    (void)cluster_timers_clear(retry->timers, flow->timer);
    cluster_index_remove(&retry->by_container,
                         container_hash(retry, flow->key.pool, flow->key.container), place);
    cluster_index_remove(&retry->by_key, key_hash(retry, &flow->key), place);
    cluster_table_give(&retry->flows, place);
}

/* ---- calls ---- */

/* r[impl cluster.retry.once] r[impl cluster.retry.bounds] */
int cluster_retry_add(struct cluster_retry *retry, const struct cluster_retry_call *call,
                      uint64_t now_ns, uint64_t *out)
{
    uint32_t place, flow_place;
    struct flow *flow;
    struct row *row;

    if (call->bytes > retry->limits.retry_bytes - retry->bytes)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.retry.bounds",
                            "the limit is reached of the bytes of calls that are tried again");
    place = cluster_table_take(&retry->rows);
    if (place == 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.retry.bounds",
                            "the limit is reached of the calls that are tried again");
    flow_place = seek(retry, &call->flow);
    if (flow_place == 0)
        flow_place = add_flow(retry, &call->flow, call->tries, now_ns);
    flow = flow_at(retry, flow_place);
    row = row_at(retry, place);
    *row = (struct row){.id = ++retry->added << 32 | place,
                        .call = *call,
                        .flow = flow_place,
                        .previous = flow->last};
    row->timer = cluster_timers_set(
        retry->timers, &(struct cluster_timer){
                           .at_ns = call->deadline_ns, .number = place, .kind = TIMER_DEADLINE});
    *(flow->last != 0 ? &row_at(retry, flow->last)->next : &flow->first) = place;
    flow->last = place;
    retry->bytes += call->bytes;
    *out = row->id;
    return 0;
}

static void move(struct row *row, enum cluster_retry_state to)
{
    CHECK(hub_states_may(&cluster_retry_states, row->state, to));
    row->state = to;
}

/* The next of its flow is the first now, and is tried at once if its predecessor was first. */
static void remove_row(struct cluster_retry *retry, uint32_t place, uint64_t now_ns)
{
    const struct row *row = row_at(retry, place);
    uint32_t flow_place = row->flow;
    struct flow *flow = flow_at(retry, flow_place);
    bool first = row->previous == 0;

    *(first ? &flow->first : &row_at(retry, row->previous)->next) = row->next;
    *(row->next != 0 ? &row_at(retry, row->next)->previous : &flow->last) = row->previous;
    (void)cluster_timers_clear(retry->timers, row->timer);
    retry->bytes -= row->call.bytes;
    cluster_table_give(&retry->rows, place);
    if (flow->first == 0)
        remove_flow(retry, flow_place);
    else if (first)
        set_flow(retry, flow_place, now_ns);
}

static uint32_t place_of(const struct cluster_retry *retry, uint64_t id)
{
    uint32_t place = (uint32_t)id;

    return cluster_table_has(&retry->rows, place) && row_at(retry, place)->id == id ? place : 0;
}

/* r[impl cluster.retry.flow] */
bool cluster_retry_take(struct cluster_retry *retry, uint64_t now_ns, struct cluster_retry_due *out)
{
    struct cluster_timer timer;
    uint32_t place;
    struct row *row;

    if (!cluster_timers_take(retry->timers, now_ns, &timer))
        return false;
    place = (uint32_t)timer.number;
    if (timer.kind == TIMER_FLOW) {
        flow_at(retry, place)->timer = 0;
        place = flow_at(retry, place)->first;
    }
    row = row_at(retry, place);
    *out = (struct cluster_retry_due){row->id, row->call.number, timer.kind == TIMER_DEADLINE};
    if (out->over)
        remove_row(retry, place, now_ns);
    else
        move(row, CLUSTER_RETRY_TRIED);
    return true;
}

bool cluster_retry_again(struct cluster_retry *retry, uint64_t id, uint64_t now_ns)
{
    uint32_t place = place_of(retry, id);

    if (place == 0)
        return false;
    move(row_at(retry, place), CLUSTER_RETRY_WAITING);
    delay_flow(retry, row_at(retry, place)->flow, now_ns);
    return true;
}

bool cluster_retry_done(struct cluster_retry *retry, uint64_t id, uint64_t now_ns)
{
    uint32_t place = place_of(retry, id);

    if (place == 0)
        return false;
    flow_at(retry, row_at(retry, place)->flow)->bound_ns = CLUSTER_RETRY_FIRST_NS;
    remove_row(retry, place, now_ns);
    return true;
}

void cluster_retry_hurry(struct cluster_retry *retry, uint64_t pool, uint32_t container,
                         uint64_t now_ns)
{
    struct cluster_index_cursor cursor;
    uint32_t place =
        cluster_index_first(&retry->by_container, container_hash(retry, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&retry->by_container, &cursor)) {
        struct flow *flow = flow_at(retry, place);

        if (flow->key.pool != pool || flow->key.container != container || flow->timer == 0)
            continue;
        flow->bound_ns = CLUSTER_RETRY_FIRST_NS;
        set_flow(retry, place, now_ns);
    }
}

void cluster_retry_hurry_all(struct cluster_retry *retry, uint64_t now_ns)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&retry->flows, place)) != 0) {
        if (flow_at(retry, place)->timer == 0)
            continue;
        flow_at(retry, place)->bound_ns = CLUSTER_RETRY_FIRST_NS;
        set_flow(retry, place, now_ns);
    }
}

uint64_t cluster_retry_next(const struct cluster_retry *retry)
{
    return cluster_timers_next(retry->timers);
}

struct cluster_retry_figures cluster_retry_figures(const struct cluster_retry *retry)
{
    return (struct cluster_retry_figures){retry->rows.count, retry->flows.count, retry->bytes};
}
