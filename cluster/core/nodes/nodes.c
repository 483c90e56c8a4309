/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/nodes/nodes.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/check.h"

struct cluster_nodes {
    struct cluster_table rows;
    struct cluster_index index;
    uint32_t own;
};

static uint32_t hash_of(const struct cluster_nodes *nodes, uint32_t node)
{
    return cluster_index_hash(&nodes->index, node, 0, 0);
}

/* NULL: there are too many. */
static struct cluster_nodes_node *add(struct cluster_nodes *nodes, uint32_t node)
{
    uint32_t place = cluster_table_take(&nodes->rows);
    struct cluster_nodes_node *row = place != 0 ? cluster_table_at(&nodes->rows, place) : NULL;

    if (row) {
        *row = (struct cluster_nodes_node){
            .node = node, .place = place, .capacity = 1, .state = CLUSTER_NODE_ACTIVE};
        cluster_index_put(&nodes->index, hash_of(nodes, node), place);
    }
    return row;
}

int cluster_nodes_create(uint32_t node, uint32_t others, struct cluster_nodes **out)
{
    struct cluster_nodes *nodes = calloc(1, sizeof *nodes);

    *out = nodes;
    if (nodes &&
        cluster_table_init(&nodes->rows, others + 1, sizeof(struct cluster_nodes_node)) == 0 &&
        cluster_index_init(&nodes->index, others + 1, 0) == 0) {
        nodes->own = node;
        (void)add(nodes, node);
        return 0;
    }
    cluster_nodes_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u nodes", others + 1);
}

void cluster_nodes_release(struct cluster_nodes **nodes)
{
    if (*nodes) {
        cluster_index_fini(&(*nodes)->index);
        cluster_table_fini(&(*nodes)->rows);
    }
    free(*nodes);
    *nodes = NULL;
}

struct cluster_nodes_node *cluster_nodes_at(const struct cluster_nodes *nodes, uint32_t place)
{
    return cluster_table_at(&nodes->rows, place);
}

struct cluster_nodes_node *cluster_nodes_find(const struct cluster_nodes *nodes, uint32_t node)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&nodes->index, hash_of(nodes, node), &cursor);

    for (; place != 0; place = cluster_index_next(&nodes->index, &cursor)) {
        struct cluster_nodes_node *row = cluster_table_at(&nodes->rows, place);

        if (row->node == node)
            return row;
    }
    return NULL;
}

struct cluster_nodes_node *cluster_nodes_after(const struct cluster_nodes *nodes, uint32_t *place)
{
    *place = cluster_table_after(&nodes->rows, *place);
    return *place != 0 ? cluster_table_at(&nodes->rows, *place) : NULL;
}

static void forget(struct cluster_nodes *nodes, const struct cluster_nodes_node *row)
{
    uint32_t place = row->place;

    cluster_index_remove(&nodes->index, hash_of(nodes, row->node), place);
    cluster_table_give(&nodes->rows, place);
}

/* A record without a capacity is of a node that has told none. r[impl cluster.nodes.record]
 * r[impl cluster.placement.named] */
static void set(struct cluster_nodes_node *row, uint64_t session,
                const struct cluster_record_node *record, bool own)
{
    row->named_only = record->capacity == 0 && !own;
    row->session = session;
    row->state = record->state;
    row->leaves &= record->state != CLUSTER_NODE_DRAINING && record->state != CLUSTER_NODE_LEFT;
    row->capacity = record->capacity > 0 ? record->capacity : 1;
    memset(row->zone, 0, sizeof row->zone);
    if (record->zone.size > 0)
        memcpy(row->zone, record->zone.data, record->zone.size);
}

int cluster_nodes_put(struct cluster_nodes *nodes, uint32_t node, uint64_t session,
                      const struct cluster_record_node *record)
{
    struct cluster_nodes_node *row = cluster_nodes_find(nodes, node);

    if (!record) {
        if (row && node != nodes->own)
            forget(nodes, row);
        return 0;
    }
    if (!row)
        row = add(nodes, node);
    if (!row)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.nodes.record", "at most %u nodes",
                            nodes->rows.max);
    set(row, session, record, node == nodes->own);
    return 0;
}

void cluster_nodes_keep(struct cluster_nodes *nodes, uint32_t node, uint64_t revision,
                        const struct cluster_record_node *record)
{
    struct cluster_nodes_node *row = cluster_nodes_find(nodes, node);
    const struct cluster_record kept = {.node = *record};
    struct hub_writer writer;

    if (!row)
        return;
    hub_writer_init(&writer, row->record, sizeof row->record);
    row->revision = revision;
    row->record_size =
        cluster_record_put(&writer, CLUSTER_KEY_NODE, &kept) == 0 ? (uint32_t)writer.size : 0;
}

struct cluster_record cluster_nodes_record(const struct cluster_nodes_node *node, uint8_t state)
{
    struct cluster_record record;

    ENSURE(cluster_record_read(CLUSTER_KEY_NODE,
                               (struct rapahub_bytes){node->record, node->record_size},
                               &record) == 0);
    record.node.state = state;
    return record;
}

void cluster_nodes_written(struct cluster_nodes *nodes, uint32_t node, uint8_t state,
                           uint64_t revision)
{
    struct cluster_nodes_node *row = cluster_nodes_find(nodes, node);

    if (!row || row->revision >= revision) /* a reading has told of it before */
        return;
    row->state = state;
    row->leaves = false;
    row->revision = revision;
}

void cluster_nodes_forget_leaves(struct cluster_nodes *nodes)
{
    struct cluster_nodes_node *node;
    uint32_t place = 0;

    while ((node = cluster_nodes_after(nodes, &place)))
        node->leaves = node->discard = false;
}

bool cluster_nodes_has_ended(const struct cluster_nodes *nodes, uint32_t node)
{
    const struct cluster_nodes_node *row = cluster_nodes_find(nodes, node);

    return row && row->state == CLUSTER_NODE_DRAINING && row->revision != 0 && row->session == 0;
}

bool cluster_nodes_hold_dead(struct cluster_nodes *nodes, uint32_t node, bool dead)
{
    struct cluster_nodes_node *row = cluster_nodes_find(nodes, node);
    bool changes = row && row->dead != dead;

    if (changes)
        row->dead = dead;
    return changes;
}

uint64_t cluster_nodes_session(const struct cluster_nodes *nodes, uint32_t node)
{
    const struct cluster_nodes_node *row = cluster_nodes_find(nodes, node);

    return row ? row->session : 0;
}
