/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/peers.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/check.h"

struct cluster_peers {
    struct cluster_limits limits;
    struct cluster_table table;
    struct cluster_index by_node;
};

int cluster_peers_create(const struct cluster_limits *limits, struct cluster_peers **out)
{
    struct cluster_peers *peers = calloc(1, sizeof *peers);
    uint32_t max = limits->peers > 0 ? limits->peers : 1; /* a table has a row at least */

    *out = peers;
    if (peers) {
        peers->limits = *limits;
        if (cluster_table_init(&peers->table, max, sizeof(struct cluster_peer)) == 0 &&
            cluster_index_init(&peers->by_node, max, 0) == 0)
            return 0;
    }
    cluster_peers_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u other nodes", limits->peers);
}

void cluster_peers_release(struct cluster_peers **peers)
{
    if (*peers) {
        cluster_index_fini(&(*peers)->by_node);
        cluster_table_fini(&(*peers)->table);
    }
    free(*peers);
    *peers = NULL;
}

static struct cluster_peer *at(const struct cluster_peers *peers, uint32_t place)
{
    return cluster_table_at(&peers->table, place);
}

static uint32_t hash_of(const struct cluster_peers *peers, uint32_t node)
{
    return cluster_index_hash(&peers->by_node, node, 0, 0);
}

static uint32_t seek(const struct cluster_peers *peers, uint32_t node)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&peers->by_node, hash_of(peers, node), &cursor);

    while (place != 0 && at(peers, place)->node != node)
        place = cluster_index_next(&peers->by_node, &cursor);
    return place;
}

struct cluster_peer *cluster_peers_find(const struct cluster_peers *peers, uint32_t node)
{
    uint32_t place = seek(peers, node);

    return place != 0 ? at(peers, place) : NULL;
}

struct cluster_peer *cluster_peers_add(struct cluster_peers *peers, uint32_t node)
{
    uint32_t place = seek(peers, node);

    if (place != 0)
        return at(peers, place);
    place = peers->table.count < peers->limits.peers ? cluster_table_take(&peers->table) : 0;
    if (place == 0)
        return NULL;
    at(peers, place)->node = node;
    cluster_index_put(&peers->by_node, hash_of(peers, node), place);
    return at(peers, place);
}

void cluster_peers_remove(struct cluster_peers *peers, uint32_t node)
{
    uint32_t place = seek(peers, node);

    if (place == 0)
        return;
    CHECK(at(peers, place)->came == 0 && at(peers, place)->sent == 0);
    cluster_index_remove(&peers->by_node, hash_of(peers, node), place);
    cluster_table_give(&peers->table, place);
}

/* r[impl cluster.peer.bounds] */
bool cluster_peers_may_send(const struct cluster_peers *peers, uint32_t node)
{
    const struct cluster_peer *peer = cluster_peers_find(peers, node);

    return peer && peer->up && peer->sent < peers->limits.peer_calls;
}

/* r[impl cluster.peer.bounds] */
bool cluster_peers_may_take(const struct cluster_peers *peers, uint32_t node, uint64_t bytes)
{
    const struct cluster_peer *peer = cluster_peers_find(peers, node);

    return peer && peer->up && peer->came < peers->limits.peer_calls &&
           bytes <= peers->limits.peer_bytes - peer->bytes;
}

void cluster_peers_count_sent(struct cluster_peers *peers, uint32_t node, int change)
{
    cluster_peers_find(peers, node)->sent += (uint32_t)change;
}

void cluster_peers_count_came(struct cluster_peers *peers, uint32_t node, int change,
                              uint64_t bytes)
{
    struct cluster_peer *peer = cluster_peers_find(peers, node);

    peer->came += (uint32_t)change;
    peer->bytes += change > 0 ? bytes : -bytes;
}

struct cluster_peers_figures cluster_peers_figures(const struct cluster_peers *peers)
{
    struct cluster_peers_figures figures = {.peers = peers->table.count};
    uint32_t place = 0;

    while ((place = cluster_table_after(&peers->table, place)) != 0) {
        const struct cluster_peer *peer = at(peers, place);

        figures.up += peer->up;
        figures.came += peer->came;
        figures.sent += peer->sent;
        figures.bytes += peer->bytes;
    }
    return figures;
}
