/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/local_containers.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/check.h"

const struct hub_states cluster_local_states = {
    "cluster.container",
    {[CLUSTER_LOCAL_BEGINNING] = {"BEGINNING", HUB_TO(CLUSTER_LOCAL_SERVING) |
                                                   HUB_TO(CLUSTER_LOCAL_HELD) |
                                                   HUB_TO(CLUSTER_LOCAL_DOWN)},
     [CLUSTER_LOCAL_SERVING] = {"SERVING", HUB_TO(CLUSTER_LOCAL_HELD) | HUB_TO(CLUSTER_LOCAL_DOWN)},
     [CLUSTER_LOCAL_HELD] = {"HELD", HUB_TO(CLUSTER_LOCAL_SERVING) | HUB_TO(CLUSTER_LOCAL_DOWN)},
     [CLUSTER_LOCAL_DOWN] = {"DOWN", HUB_TO(CLUSTER_LOCAL_BEGINNING)}}};

struct cluster_local_containers {
    struct cluster_table rows;
    struct cluster_index index;
};

int cluster_local_containers_create(uint32_t max, uint64_t secret,
                                    struct cluster_local_containers **out)
{
    struct cluster_local_containers *locals = calloc(1, sizeof *locals);

    *out = locals;
    if (locals &&
        cluster_table_init(&locals->rows, max, sizeof(struct cluster_local_container)) == 0 &&
        cluster_index_init(&locals->index, max, secret) == 0)
        return 0;
    cluster_local_containers_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u containers", max);
}

void cluster_local_containers_release(struct cluster_local_containers **locals)
{
    if (*locals) {
        cluster_index_fini(&(*locals)->index);
        cluster_table_fini(&(*locals)->rows);
    }
    free(*locals);
    *locals = NULL;
}

static uint32_t hash_of(const struct cluster_local_containers *locals, uint64_t pool,
                        uint32_t container)
{
    return cluster_index_hash(&locals->index, pool, container, 0);
}

static uint32_t seek(const struct cluster_local_containers *locals, uint64_t pool,
                     uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&locals->index, hash_of(locals, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&locals->index, &cursor)) {
        const struct cluster_local_container *local = cluster_table_at(&locals->rows, place);

        if (local->pool == pool && local->container == container)
            break;
    }
    return place;
}

struct cluster_local_container *cluster_local_containers_find(
    const struct cluster_local_containers *locals, uint64_t pool, uint32_t container)
{
    uint32_t place = seek(locals, pool, container);

    return place != 0 ? cluster_table_at(&locals->rows, place) : NULL;
}

struct cluster_local_container *cluster_local_containers_after(
    const struct cluster_local_containers *locals, uint32_t *place)
{
    *place = cluster_table_after(&locals->rows, *place);
    return *place != 0 ? cluster_table_at(&locals->rows, *place) : NULL;
}

static bool is_better(const struct cluster_local_container *one,
                      const struct cluster_local_container *other)
{
    bool serves = one->state == CLUSTER_LOCAL_SERVING;

    if (!other || serves != (other->state == CLUSTER_LOCAL_SERVING))
        return !other || serves;
    return one->container < other->container;
}

const struct cluster_local_container *cluster_local_containers_any(
    const struct cluster_local_containers *locals, uint64_t pool)
{
    const struct cluster_local_container *local, *best = NULL;
    uint32_t place = 0;

    while ((local = cluster_local_containers_after(locals, &place)))
        if (local->pool == pool && is_better(local, best))
            best = local;
    return best;
}

static int begin_anew(struct cluster_local_container *local, uint64_t token)
{
    if (token <= local->token)
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.local.token",
                            "container %u of pool %u.%u has had a later life", local->container,
                            cluster_ids_pool_of(local->pool).major,
                            cluster_ids_pool_of(local->pool).minor);
    if (!hub_states_may(&cluster_local_states, local->state, CLUSTER_LOCAL_BEGINNING))
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.local.states",
                            "container %u of pool %u.%u is %s", local->container,
                            cluster_ids_pool_of(local->pool).major,
                            cluster_ids_pool_of(local->pool).minor,
                            hub_states_name(&cluster_local_states, local->state));
    return 0;
}

/* r[impl cluster.local.token] */
int cluster_local_containers_begin(struct cluster_local_containers *locals, uint64_t pool,
                                   uint32_t container, uint64_t token, uint64_t lineage)
{
    uint32_t place = seek(locals, pool, container);
    bool known = place != 0;
    struct cluster_local_container *local;
    int status = known ? begin_anew(cluster_table_at(&locals->rows, place), token) : 0;

    if (status < 0)
        return status;
    place = known ? place : cluster_table_take(&locals->rows);
    if (place == 0)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds", "a node has at most %u containers",
                            locals->rows.max);
    local = cluster_table_at(&locals->rows, place);
    *local = (struct cluster_local_container){.pool = pool,
                                              .token = token,
                                              .lineage = lineage,
                                              .container = container,
                                              .state = CLUSTER_LOCAL_BEGINNING};
    if (!known)
        cluster_index_put(&locals->index, hash_of(locals, pool, container), place);
    return 0;
}

/* r[impl cluster.local.states] */
void cluster_local_containers_move(struct cluster_local_containers *locals, uint64_t pool,
                                   uint32_t container, enum cluster_local_state to)
{
    struct cluster_local_container *local = cluster_local_containers_find(locals, pool, container);

    CHECK(local && to != CLUSTER_LOCAL_BEGINNING);
    CHECK(hub_states_may(&cluster_local_states, local->state, to));
    local->state = to;
}

void cluster_local_containers_remove(struct cluster_local_containers *locals, uint64_t pool,
                                     uint32_t container)
{
    uint32_t place = seek(locals, pool, container);

    if (place == 0)
        return;
    cluster_index_remove(&locals->index, hash_of(locals, pool, container), place);
    cluster_table_give(&locals->rows, place);
}

uint32_t cluster_local_containers_count(const struct cluster_local_containers *locals)
{
    return locals->rows.count;
}
