/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/parking.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"

struct line { /* the calls of a container; it is there while a call is */
    uint64_t pool, bytes;
    uint32_t container, count;
    uint32_t first, last; /* rows */
};

struct row {
    uint64_t id; /* counts up; the place is its lower half */
    uint64_t number, bytes;
    uint32_t line;
    uint32_t next, previous;
};

struct cluster_parking {
    struct cluster_limits limits;
    struct cluster_table lines, rows;
    struct cluster_index index; /* lines by container */
    uint64_t parked, bytes;
};

int cluster_parking_create(const struct cluster_limits *limits, uint64_t secret,
                           struct cluster_parking **out)
{
    struct cluster_parking *parking = calloc(1, sizeof *parking);

    *out = parking;
    if (parking) {
        parking->limits = *limits;
        if (cluster_table_init(&parking->lines, limits->parked, sizeof(struct line)) == 0 &&
            cluster_table_init(&parking->rows, limits->parked, sizeof(struct row)) == 0 &&
            cluster_index_init(&parking->index, limits->parked, secret) == 0)
            return 0;
    }
    cluster_parking_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u calls that wait", limits->parked);
}

void cluster_parking_release(struct cluster_parking **parking)
{
    if (*parking) {
        cluster_index_fini(&(*parking)->index);
        cluster_table_fini(&(*parking)->rows);
        cluster_table_fini(&(*parking)->lines);
    }
    free(*parking);
    *parking = NULL;
}

static struct line *line_at(const struct cluster_parking *parking, uint32_t place)
{
    return cluster_table_at(&parking->lines, place);
}

static struct row *row_at(const struct cluster_parking *parking, uint32_t place)
{
    return cluster_table_at(&parking->rows, place);
}

static uint32_t hash_of(const struct cluster_parking *parking, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&parking->index, pool, container, 0);
}

static uint32_t seek(const struct cluster_parking *parking, uint64_t pool, uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place =
        cluster_index_first(&parking->index, hash_of(parking, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&parking->index, &cursor))
        if (line_at(parking, place)->pool == pool &&
            line_at(parking, place)->container == container)
            break;
    return place;
}

/* Returns the limit that one more call would be above, or NULL. r[impl cluster.parking.bounds] */
static const char *full(const struct cluster_parking *parking, const struct line *line,
                        uint64_t bytes)
{
    const struct cluster_limits *limits = &parking->limits;

    if (parking->rows.count >= limits->parked)
        return "the calls that wait on a node";
    if (bytes > limits->parked_bytes - parking->bytes)
        return "the bytes of the calls that wait on a node";
    if (line && line->count >= limits->parked_container)
        return "the calls that wait for a container";
    return bytes > limits->parked_container_bytes - (line ? line->bytes : 0)
               ? "the bytes of the calls that wait for a container"
               : NULL;
}

/* A line has a row, so there is space for as many. */
static uint32_t add_line(struct cluster_parking *parking, uint64_t pool, uint32_t container)
{
    uint32_t place = cluster_table_take(&parking->lines);
    struct line *line = line_at(parking, place);

    line->pool = pool;
    line->container = container;
    cluster_index_put(&parking->index, hash_of(parking, pool, container), place);
    return place;
}

static uint64_t append(struct cluster_parking *parking, uint32_t line_place,
                       const struct cluster_parking_call *call)
{
    struct line *line = line_at(parking, line_place);
    uint32_t place = cluster_table_take(&parking->rows);
    struct row *row = row_at(parking, place);

    *row = (struct row){.id = ++parking->parked << 32 | place,
                        .number = call->number,
                        .bytes = call->bytes,
                        .line = line_place,
                        .previous = line->last};
    *(line->last != 0 ? &row_at(parking, line->last)->next : &line->first) = place;
    line->last = place;
    line->count++;
    line->bytes += call->bytes;
    parking->bytes += call->bytes;
    return row->id;
}

int cluster_parking_park(struct cluster_parking *parking, const struct cluster_parking_call *call,
                         uint64_t *out)
{
    uint32_t line = seek(parking, call->pool, call->container);
    const char *limit = full(parking, line != 0 ? line_at(parking, line) : NULL, call->bytes);

    if (limit)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.parking.bounds", "the limit is reached of %s",
                            limit);
    *out = append(parking, line != 0 ? line : add_line(parking, call->pool, call->container), call);
    return 0;
}

static void remove_row(struct cluster_parking *parking, uint32_t place)
{
    const struct row *row = row_at(parking, place);
    uint32_t line_place = row->line;
    struct line *line = line_at(parking, line_place);

    *(row->previous != 0 ? &row_at(parking, row->previous)->next : &line->first) = row->next;
    *(row->next != 0 ? &row_at(parking, row->next)->previous : &line->last) = row->previous;
    line->count--;
    line->bytes -= row->bytes;
    parking->bytes -= row->bytes;
    cluster_table_give(&parking->rows, place);
    if (line->count > 0)
        return;
    cluster_index_remove(&parking->index, hash_of(parking, line->pool, line->container),
                         line_place);
    cluster_table_give(&parking->lines, line_place);
}

/* r[impl cluster.parking.order] */
bool cluster_parking_take(struct cluster_parking *parking, uint64_t pool, uint32_t container,
                          uint64_t *number)
{
    uint32_t line = seek(parking, pool, container);
    uint32_t place = line != 0 ? line_at(parking, line)->first : 0;

    if (place == 0)
        return false;
    *number = row_at(parking, place)->number;
    remove_row(parking, place);
    return true;
}

bool cluster_parking_remove(struct cluster_parking *parking, uint64_t id)
{
    uint32_t place = (uint32_t)id;

    if (!cluster_table_has(&parking->rows, place) || row_at(parking, place)->id != id)
        return false;
    remove_row(parking, place);
    return true;
}

struct cluster_parking_figures cluster_parking_figures(const struct cluster_parking *parking,
                                                       uint64_t pool, uint32_t container)
{
    uint32_t place;

    if (pool == 0)
        return (struct cluster_parking_figures){parking->rows.count, parking->bytes};
    place = seek(parking, pool, container);
    if (place == 0)
        return (struct cluster_parking_figures){0};
    return (struct cluster_parking_figures){line_at(parking, place)->count,
                                            line_at(parking, place)->bytes};
}
