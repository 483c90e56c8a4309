/* SPDX-License-Identifier: Apache-2.0 */
/* id_map: number to pointer, of a capacity fixed at creation. Not thread-safe. */
#ifndef HUB_BASE_ID_MAP_H
#define HUB_BASE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_id_map; /* open addressing; never more than half full */

/* -ENOMEM. `capacity` is the most entries it takes; above 2^30 there is never memory. */
int hub_id_map_create(uint32_t capacity, struct hub_id_map **out);
void hub_id_map_release(struct hub_id_map **map);

/* -ENOSPC when full, -EEXIST when the number is in it. `value` is not NULL. */
int hub_id_map_put(struct hub_id_map *map, uint64_t number, void *value);

/* NULL where it is not. */
void *hub_id_map_get(const struct hub_id_map *map, uint64_t number);
void *hub_id_map_remove(struct hub_id_map *map, uint64_t number);

/* Calls `visit` for each entry, in no order; it must not change the map. */
void hub_id_map_each(const struct hub_id_map *map, void (*visit)(void *user, uint64_t, void *value),
                     void *user);

#endif
