/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/map/map_nodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

void cluster_map_nodes_init(struct cluster_map_nodes *nodes, struct cluster_event_queue *events)
{
    *nodes = (struct cluster_map_nodes){.events = events};
}

void cluster_map_nodes_fini(struct cluster_map_nodes *nodes)
{
    for (uint32_t i = 0; i < nodes->count; i++)
        free(nodes->nodes[i].record);
    nodes->count = 0;
}

bool cluster_map_nodes_is_of_node(enum cluster_keys_kind kind)
{
    return kind == CLUSTER_KEY_NODE || kind == CLUSTER_KEY_SESSION;
}

/* NULL: there are too many. A node that is gone keeps its place: an older reading may still tell of
 * it. */
static struct cluster_map_nodes_node *place_of(struct cluster_map_nodes *nodes, uint32_t node)
{
    for (uint32_t i = 0; i < nodes->count; i++)
        if (nodes->nodes[i].node == node)
            return &nodes->nodes[i];
    if (nodes->count == CLUSTER_MAP_NODES_MAX)
        return NULL;
    nodes->nodes[nodes->count].node = node;
    return &nodes->nodes[nodes->count++];
}

static int keep(struct cluster_map_nodes_node *row, struct rapahub_bytes value, bool deleted)
{
    uint8_t *record = deleted ? NULL : malloc(value.size + 1);

    if (!deleted && !record)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the record of node %" PRIu32,
                            row->node);
    if (!deleted && value.size > 0)
        memcpy(record, value.data, value.size);
    free(row->record);
    row->record = record;
    row->size = deleted ? 0 : value.size;
    return 0;
}

static int tell(const struct cluster_map_nodes *nodes, const struct cluster_map_nodes_node *row)
{
    return cluster_event_queue_add(
        nodes->events,
        &(struct cluster_event){.kind = CLUSTER_EVENT_NODE,
                                .node = row->node,
                                .session = row->session,
                                .revision = row->record_revision,
                                .body = {.bytes = {row->record, row->size}, .size = row->size}});
}

/* A session that is put again is the same one. */
static bool is_new(const struct cluster_map_nodes_node *row, const struct cluster_key *key,
                   uint64_t session)
{
    return key->kind == CLUSTER_KEY_NODE || row->session_revision == 0 || row->session != session;
}

/* r[impl cluster.nodes.record] */
int cluster_map_nodes_take(struct cluster_map_nodes *nodes, const struct cluster_key *key,
                           const struct cluster_pair *pair, bool deleted)
{
    struct cluster_map_nodes_node *row = place_of(nodes, key->node);
    uint64_t *revision, session = deleted ? 0 : pair->create_rev;
    bool tells;
    int status = 0;

    if (!row) {
        rapahub_log(RAPAHUB_LOG_WARN, "node", "node %" PRIu32 " gets no containers: at most %d",
                    key->node, CLUSTER_MAP_NODES_MAX);
        return 0;
    }
    revision = key->kind == CLUSTER_KEY_NODE ? &row->record_revision : &row->session_revision;
    if (pair->mod_rev <= *revision)
        return 0;
    tells = is_new(row, key, session);
    if (key->kind == CLUSTER_KEY_NODE)
        status = keep(row, pair->value, deleted);
    else
        row->session = session;
    if (status < 0)
        return status;
    *revision = pair->mod_rev;
    return tells && row->record_revision > 0 ? tell(nodes, row) : 0;
}

int cluster_map_nodes_tell_all(const struct cluster_map_nodes *nodes)
{
    int status = 0;

    for (uint32_t i = 0; status == 0 && i < nodes->count; i++)
        if (nodes->nodes[i].record_revision > 0)
            status = tell(nodes, &nodes->nodes[i]);
    return status;
}
