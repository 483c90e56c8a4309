/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/address_map.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"

struct cluster_address_map {
    struct cluster_table rows;
    struct cluster_index index;
};

/* With the row its word in the table of free places. */
_Static_assert(sizeof(struct cluster_address) + sizeof(uint32_t) + CLUSTER_INDEX_EACH <=
                   CLUSTER_ADDRESS_MAP_EACH,
               "an entry is too large");

int cluster_address_map_create(uint32_t max, uint64_t secret, struct cluster_address_map **out)
{
    struct cluster_address_map *map = calloc(1, sizeof *map);

    *out = map;
    if (map && cluster_table_init(&map->rows, max, sizeof(struct cluster_address)) == 0 &&
        cluster_index_init(&map->index, max, secret) == 0)
        return 0;
    cluster_address_map_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a map of %u entries", max);
}

void cluster_address_map_release(struct cluster_address_map **map)
{
    if (*map) {
        cluster_index_fini(&(*map)->index);
        cluster_table_fini(&(*map)->rows);
    }
    free(*map);
    *map = NULL;
}

static uint32_t hash_of(const struct cluster_address_map *map, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&map->index, pool, container, 0);
}

static uint32_t seek(const struct cluster_address_map *map, uint64_t pool, uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&map->index, hash_of(map, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&map->index, &cursor)) {
        const struct cluster_address *address = cluster_table_at(&map->rows, place);

        if (address->pool == pool && address->container == container)
            break;
    }
    return place;
}

struct cluster_address *cluster_address_map_find(const struct cluster_address_map *map,
                                                 uint64_t pool, uint32_t container)
{
    uint32_t place = seek(map, pool, container);

    return place != 0 ? cluster_table_at(&map->rows, place) : NULL;
}

struct cluster_address *cluster_address_map_after(const struct cluster_address_map *map,
                                                  uint32_t *place)
{
    *place = cluster_table_after(&map->rows, *place);
    return *place != 0 ? cluster_table_at(&map->rows, *place) : NULL;
}

/* r[impl cluster.map.bounds] */
struct cluster_address *cluster_address_map_add(struct cluster_address_map *map, uint64_t pool,
                                                uint32_t container)
{
    uint32_t place = seek(map, pool, container);
    struct cluster_address *address;

    if (place != 0)
        return cluster_table_at(&map->rows, place);
    place = cluster_table_take(&map->rows);
    if (place == 0)
        return NULL;
    address = cluster_table_at(&map->rows, place);
    address->pool = pool;
    address->container = container;
    cluster_index_put(&map->index, hash_of(map, pool, container), place);
    return address;
}

void cluster_address_map_remove(struct cluster_address_map *map, uint64_t pool, uint32_t container)
{
    uint32_t place = seek(map, pool, container);

    if (place == 0)
        return;
    cluster_index_remove(&map->index, hash_of(map, pool, container), place);
    cluster_table_give(&map->rows, place);
}

uint32_t cluster_address_map_of_node(const struct cluster_address_map *map, uint64_t pool,
                                     uint32_t containers, uint32_t node)
{
    uint32_t container = 0;

    for (; container < containers; container++) {
        const struct cluster_address *address = cluster_address_map_find(map, pool, container);

        if (address && address->entry.owner == node)
            break;
    }
    return container;
}

uint32_t cluster_address_map_count(const struct cluster_address_map *map)
{
    return map->rows.count;
}

uint32_t cluster_address_map_space(const struct cluster_address_map *map)
{
    return map->rows.max - map->rows.count;
}
