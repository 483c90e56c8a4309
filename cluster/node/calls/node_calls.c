/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/node_calls.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"

/* Calls to containers that share a lane hold back each other's numbers, which is never wrong. */
#define LANES 256

struct cluster_node_calls {
    struct cluster_table rows;
    struct cluster_index by_uid;
    uint64_t made;
    struct hub_list lanes[LANES], several;
    const struct cluster_node_calls_hooks *hooks; /* NULL: nothing watches */
    void *user;
};

int cluster_node_calls_create(uint32_t most, uint64_t secret, struct cluster_node_calls **out)
{
    struct cluster_node_calls *calls = calloc(1, sizeof *calls);

    *out = calls;
    if (calls && cluster_table_init(&calls->rows, most, sizeof(struct cluster_node_call)) == 0 &&
        cluster_index_init(&calls->by_uid, most, secret) == 0) {
        for (unsigned i = 0; i < LANES; i++)
            hub_list_init(&calls->lanes[i]);
        hub_list_init(&calls->several);
        return 0;
    }
    cluster_node_calls_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u calls", most);
}

static struct cluster_node_call *row_at(const struct cluster_node_calls *calls, uint32_t place)
{
    return cluster_table_at(&calls->rows, place);
}

void cluster_node_calls_release(struct cluster_node_calls **calls)
{
    uint32_t place = 0;

    if (*calls) {
        while ((place = cluster_table_after(&(*calls)->rows, place)) != 0)
            free(row_at(*calls, place)->result);
        cluster_index_fini(&(*calls)->by_uid);
        cluster_table_fini(&(*calls)->rows);
    }
    free(*calls);
    *calls = NULL;
}

void cluster_node_calls_watch(struct cluster_node_calls *calls,
                              const struct cluster_node_calls_hooks *hooks, void *user)
{
    calls->hooks = hooks;
    calls->user = user;
}

static uint32_t hash_of(const struct cluster_node_calls *calls, struct cluster_uid uid)
{
    return cluster_index_hash(&calls->by_uid, uid.origin, uid.number, 0);
}

static struct hub_list *lane_of(struct cluster_node_calls *calls, uint64_t pool, uint32_t container)
{
    return container == CLUSTER_NODE_CALLS_SEVERAL
               ? &calls->several
               : &calls->lanes[cluster_index_hash(&calls->by_uid, pool, container, 0) % LANES];
}

struct cluster_node_call *cluster_node_calls_add(struct cluster_node_calls *calls,
                                                 const struct cluster_node_call *call)
{
    uint32_t place = cluster_table_take(&calls->rows);
    struct cluster_node_call *row;

    if (place == 0) {
        rapahub_fail(RAPAHUB_EBUSY, "cluster.call.bounds", "at most %u calls are open",
                     calls->rows.max);
        return NULL;
    }
    row = row_at(calls, place);
    *row = *call;
    row->number = ++calls->made << 32 | place;
    if (!row->again)
        row->root = row->number;
    hub_list_init(&row->lane);
    if (row->own)
        hub_list_append(lane_of(calls, row->pool, row->container), &row->lane);
    cluster_index_put(&calls->by_uid, hash_of(calls, row->uid), place);
    return row;
}

void cluster_node_calls_remove(struct cluster_node_calls *calls, struct cluster_node_call *call)
{
    uint32_t place = (uint32_t)call->number;

    if (calls->hooks)
        calls->hooks->removed(calls->user, call);
    hub_list_remove(&call->lane);
    cluster_index_remove(&calls->by_uid, hash_of(calls, call->uid), place);
    free(call->result);
    cluster_table_give(&calls->rows, place);
}

void cluster_node_calls_end(struct cluster_node_calls *calls, struct cluster_node_call *call,
                            const struct rapahub_raw_answer *answer)
{
    call->caller->answer(call->user, call, answer);
    cluster_node_calls_remove(calls, call);
}

struct cluster_node_call *cluster_node_calls_find(const struct cluster_node_calls *calls,
                                                  uint64_t number)
{
    uint32_t place = (uint32_t)number;
    struct cluster_node_call *row =
        cluster_table_has(&calls->rows, place) ? row_at(calls, place) : NULL;

    return row && row->number == number ? row : NULL;
}

struct cluster_node_call *cluster_node_calls_of_uid(const struct cluster_node_calls *calls,
                                                    struct cluster_uid uid)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&calls->by_uid, hash_of(calls, uid), &cursor);

    for (; place != 0; place = cluster_index_next(&calls->by_uid, &cursor)) {
        struct cluster_node_call *row = row_at(calls, place);

        if (row->uid.origin == uid.origin && row->uid.number == uid.number)
            return row;
    }
    return NULL;
}

static uint64_t least(const struct hub_list *lane)
{
    return hub_list_empty(lane)
               ? UINT64_MAX
               : HUB_LIST_ITEM(lane->next, struct cluster_node_call, lane)->uid.number;
}

/* r[impl cluster.node.ended] */
uint64_t cluster_node_calls_done_below(struct cluster_node_calls *calls,
                                       const struct cluster_node_call *call)
{
    uint64_t first, several = least(&calls->several);

    if (call->container == CLUSTER_NODE_CALLS_SEVERAL)
        return 0;
    first = least(lane_of(calls, call->pool, call->container));
    return first < several ? first : several;
}

uint32_t cluster_node_calls_count(const struct cluster_node_calls *calls)
{
    return calls->rows.count;
}
