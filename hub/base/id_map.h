/* SPDX-License-Identifier: Apache-2.0 */
/* id_map: maps numbers to pointers, with a capacity fixed at creation. It has its memory from then
 * on, and touches as much of it as its entries need. Not thread-safe. */
#ifndef HUB_BASE_ID_MAP_H
#define HUB_BASE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hub_id_map; /* open addressing; never more than half full */

/* Makes a map of at most `capacity` entries. -ENOMEM, always for more than 2^30. */
int hub_id_map_create(uint32_t capacity, struct hub_id_map **out);
void hub_id_map_release(struct hub_id_map **map);

/* Adds an entry. -ENOSPC if the map is full, -EEXIST if it has the number. `value` is not NULL. */
int hub_id_map_put(struct hub_id_map *map, uint64_t number, void *value);

/* Find and remove an entry. NULL if there is none. */
void *hub_id_map_get(const struct hub_id_map *map, uint64_t number);
void *hub_id_map_remove(struct hub_id_map *map, uint64_t number);

/* Calls `visit` for each entry, in no particular order. It must not change the map. */
void hub_id_map_each(const struct hub_id_map *map, void (*visit)(void *user, uint64_t, void *value),
                     void *user);

#endif
