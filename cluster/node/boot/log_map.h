/* SPDX-License-Identifier: Apache-2.0 */
/* log_map: the entries of the map as a node's log has them: those of the snapshot, changed by the
 * records after it. Session, destination and module of an entry are not in the log. A map has one
 * thread.
 */
#ifndef CLUSTER_NODE_BOOT_LOG_MAP_H
#define CLUSTER_NODE_BOOT_LOG_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/store/replay.h"
#include "cluster/store/segments.h"

struct cluster_log_map_entry {
    struct cluster_delta_change change;
    uint64_t number; /* rises with each change that was read */
};

struct cluster_log_map {
    struct cluster_log_map_entry *of; /* in the order of pools and containers; none is gone */
    size_t count, room;
    uint64_t number;
    uint64_t revision; /* 0: the log has no map, or was damaged and put aside */
    struct cluster_replay replay;
};

/* Replays the log into a map, which is to be released after a failure too. Fails as
 * cluster_replay_run. RAPAHUB_EFULL: it has more entries than a map can have. Waits for the disk.
 */
int cluster_log_map_read(struct cluster_log_map *map, const struct cluster_segments *log);
void cluster_log_map_release(struct cluster_log_map *map);

/* Returns the entry of a container, or NULL. */
const struct cluster_delta_change *cluster_log_map_find(const struct cluster_log_map *map,
                                                        uint64_t pool, uint32_t container);

#endif
