/* SPDX-License-Identifier: Apache-2.0 */
/* address_map: the entries of all containers of all pools, as the node knows them. Entries change
 * through catch_up alone, so that each state of the map is one that the metastore had.
 */
#ifndef CLUSTER_CORE_MAP_ADDRESS_MAP_H
#define CLUSTER_CORE_MAP_ADDRESS_MAP_H

#include <stdint.h>

#include "cluster/base/entry.h"

#define CLUSTER_ADDRESS_MAP_EACH \
    96 /* bytes of memory for an entry, at most, in a map that is full */

struct cluster_address_map;

struct cluster_address {
    uint64_t pool;
    uint64_t revision; /* that put the entry */
    struct cluster_entry entry;
    uint32_t container;
    uint32_t reading; /* number of the reading that met it last */
};

/* Makes a map of at most `max` entries. -ENOMEM. */
int cluster_address_map_create(uint32_t max, uint64_t secret, struct cluster_address_map **out);
void cluster_address_map_release(struct cluster_address_map **map);

/* Return an entry, or NULL. It is good until the next change. After place 0 comes the first of all;
 * `place` becomes its place. */
struct cluster_address *cluster_address_map_find(const struct cluster_address_map *map,
                                                 uint64_t pool, uint32_t container);
struct cluster_address *cluster_address_map_after(const struct cluster_address_map *map,
                                                  uint32_t *place);

/* Returns the entry, which is added if there was none; NULL: the map is full. */
struct cluster_address *cluster_address_map_add(struct cluster_address_map *map, uint64_t pool,
                                                uint32_t container);

/* Removes an entry, if it is there. */
void cluster_address_map_remove(struct cluster_address_map *map, uint64_t pool, uint32_t container);

/* Returns the least container of the pool, of `containers` that it has, which a node owns; or
 * `containers`, if it owns none. */
uint32_t cluster_address_map_of_node(const struct cluster_address_map *map, uint64_t pool,
                                     uint32_t containers, uint32_t node);

uint32_t cluster_address_map_count(const struct cluster_address_map *map);
uint32_t cluster_address_map_space(const struct cluster_address_map *map);

#endif
