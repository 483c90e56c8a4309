/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/log_map.h"

#include <stdbool.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/store/snapshot.h"

#define ROOM_FIRST 4096
#define ROOM_MAX   ((size_t)4 * CLUSTER_SNAPSHOT_ENTRIES_MAX)

static int compare_places(const struct cluster_delta_change *a,
                          const struct cluster_delta_change *b)
{
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return (a->container > b->container) - (a->container < b->container);
}

static int compare(const void *left, const void *right)
{
    const struct cluster_log_map_entry *a = left, *b = right;
    int r = compare_places(&a->change, &b->change);

    return r != 0 ? r : (a->number > b->number) - (a->number < b->number);
}

/* Keeps the last change of each container, unless it is gone. */
static void settle(struct cluster_log_map *map)
{
    size_t kept = 0;

    if (map->count > 1)
        qsort(map->of, map->count, sizeof *map->of, compare);
    for (size_t i = 0; i < map->count; i++) {
        bool last =
            i + 1 == map->count || compare_places(&map->of[i].change, &map->of[i + 1].change) != 0;

        if (last && map->of[i].change.entry.state != CLUSTER_ENTRY_NONE)
            map->of[kept++] = map->of[i];
    }
    map->count = kept;
}

static int make_room(struct cluster_log_map *map)
{
    struct cluster_log_map_entry *more;
    size_t room = map->room == 0 ? ROOM_FIRST : 2 * map->room;

    settle(map);
    if (map->count < map->room / 2)
        return 0;
    if (room > ROOM_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds",
                            "the log of the map has more than %d entries",
                            CLUSTER_SNAPSHOT_ENTRIES_MAX);
    more = reallocarray(map->of, room, sizeof *more);
    if (!more)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the map of %zu entries", map->count);
    map->of = more;
    map->room = room;
    return 0;
}

static int apply(void *user, const struct cluster_wal_record *record)
{
    struct cluster_log_map *map = user;

    for (uint32_t i = 0; i < record->count; i++) {
        int r = map->count == map->room ? make_room(map) : 0;

        if (r < 0)
            return r;
        map->of[map->count++] =
            (struct cluster_log_map_entry){cluster_wal_record_change(record, i), map->number++};
    }
    return 0;
}

int cluster_log_map_read(struct cluster_log_map *map, const struct cluster_segments *log)
{
    uint64_t revision;
    int r;

    *map = (struct cluster_log_map){0};
    r = cluster_snapshot_read(log, apply, map, &revision);
    if (r >= 0)
        r = cluster_replay_run(log, revision, apply, map, &map->replay);
    if (r < 0)
        return r;
    map->revision = map->replay.revision;
    if (map->replay.end == CLUSTER_REPLAY_DAMAGED)
        map->count = 0;
    settle(map);
    return 0;
}

void cluster_log_map_release(struct cluster_log_map *map)
{
    free(map->of);
    *map = (struct cluster_log_map){0};
}

const struct cluster_delta_change *cluster_log_map_find(const struct cluster_log_map *map,
                                                        uint64_t pool, uint32_t container)
{
    const struct cluster_delta_change wanted = {.pool = pool, .container = container};
    size_t from = 0, to = map->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int r = compare_places(&map->of[middle].change, &wanted);

        if (r == 0)
            return &map->of[middle].change;
        if (r < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}
