/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/copies/holders.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"

struct cluster_holders {
    struct cluster_table rows;
    struct cluster_index index;
};

int cluster_holders_create(uint32_t max, uint64_t secret, struct cluster_holders **out)
{
    struct cluster_holders *holders = calloc(1, sizeof *holders);

    *out = holders;
    if (holders &&
        cluster_table_init(&holders->rows, max, sizeof(struct cluster_holders_row)) == 0 &&
        cluster_index_init(&holders->index, max, secret) == 0)
        return 0;
    cluster_holders_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the holders of %u containers", max);
}

void cluster_holders_release(struct cluster_holders **holders)
{
    if (*holders) {
        cluster_index_fini(&(*holders)->index);
        cluster_table_fini(&(*holders)->rows);
    }
    free(*holders);
    *holders = NULL;
}

static uint32_t hash_of(const struct cluster_holders *holders, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&holders->index, pool, container, 0);
}

/* Finds a row also where its record is gone. */
static struct cluster_holders_row *seek(const struct cluster_holders *holders, uint64_t pool,
                                        uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place =
        cluster_index_first(&holders->index, hash_of(holders, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&holders->index, &cursor)) {
        struct cluster_holders_row *row = cluster_table_at(&holders->rows, place);

        if (row->pool == pool && row->container == container)
            return row;
    }
    return NULL;
}

struct cluster_holders_row *cluster_holders_find(const struct cluster_holders *holders,
                                                 uint64_t pool, uint32_t container)
{
    struct cluster_holders_row *row = seek(holders, pool, container);

    return row && !row->gone ? row : NULL;
}

struct cluster_holders_row *cluster_holders_after(const struct cluster_holders *holders,
                                                  uint32_t *place)
{
    while ((*place = cluster_table_after(&holders->rows, *place)) != 0) {
        struct cluster_holders_row *row = cluster_table_at(&holders->rows, *place);

        if (!row->gone)
            return row;
    }
    return NULL;
}

static struct cluster_holders_row *add(struct cluster_holders *holders, uint64_t pool,
                                       uint32_t container)
{
    uint32_t place = cluster_table_take(&holders->rows);
    struct cluster_holders_row *row;

    if (place == 0)
        return NULL;
    cluster_index_put(&holders->index, hash_of(holders, pool, container), place);
    row = cluster_table_at(&holders->rows, place);
    row->pool = pool;
    row->container = container;
    row->place = place;
    return row;
}

static void forget(struct cluster_holders *holders, const struct cluster_holders_row *row)
{
    uint32_t place = row->place;

    cluster_index_remove(&holders->index, hash_of(holders, row->pool, row->container), place);
    cluster_table_give(&holders->rows, place);
}

void cluster_holders_read(struct cluster_holders *holders)
{
    for (uint32_t place = 0; (place = cluster_table_after(&holders->rows, place)) != 0;) {
        const struct cluster_holders_row *row = cluster_table_at(&holders->rows, place);

        if (row->gone)
            forget(holders, row);
    }
}

static void take(struct cluster_holders_row *row, const struct cluster_record_holders *record)
{
    struct cluster_list nodes = record->nodes;

    row->count = 0;
    while (row->count < CLUSTER_RECORD_HOLDERS_MAX &&
           cluster_record_next_node(&nodes, &row->nodes[row->count]))
        row->count++;
    row->joining = record->joining;
    row->tell_ns = 0;
    if (row->held != row->joining)
        row->held = 0;
}

/* The reading may bring the record that is gone, if that was told before: then it is older. */
static void end(struct cluster_holders *holders, struct cluster_holders_row *row, bool reading)
{
    if (!row)
        return;
    row->gone = true;
    row->joining = row->held = row->count = 0;
    if (!reading)
        forget(holders, row);
}

/* r[impl cluster.hold.record] */
int cluster_holders_put(struct cluster_holders *holders, const struct cluster_holders_put *put)
{
    struct cluster_holders_row *row = seek(holders, put->pool, put->container);

    if (row && put->revision <= row->revision)
        return 0;
    if (!row && (put->record || put->reading)) {
        row = add(holders, put->pool, put->container);
        if (!row)
            return rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds",
                                "a node knows the holders of at most %u containers",
                                holders->rows.max);
    }
    if (row)
        row->revision = put->revision;
    if (put->record) {
        row->gone = false;
        take(row, put->record);
    } else {
        end(holders, row, put->reading);
    }
    return 0;
}

bool cluster_holders_note_held(struct cluster_holders_row *row, uint32_t node, uint64_t epoch)
{
    if (node == 0 || row->joining != node)
        return false;
    row->held = node;
    row->held_epoch = epoch;
    return true;
}

bool cluster_holders_names(const struct cluster_holders_row *row, uint32_t node)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (row->nodes[i] == node)
            return true;
    return false;
}

bool cluster_holders_names_others(const struct cluster_holders_row *row, uint32_t node)
{
    return row->count > 1 || row->nodes[0] != node;
}

bool cluster_holders_waits_for(const struct cluster_holders_row *row, uint32_t node)
{
    return node != 0 && (row->joining == node || cluster_holders_names(row, node));
}
