/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_server.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_feeds.h"
#include "cluster/metastore/seat/seat_peer.h"
#include "cluster/metastore/seat/seat_work.h"
#include "hub/base/clock.h"

static const char *const rule_names[CLUSTER_SEAT_SERVER_RULE_COUNT] = {
#define NAME(name) [CLUSTER_SEAT_SERVER_##name] = #name,
    CLUSTER_SEAT_SERVER_RULES(NAME)
#undef NAME
};

const char *cluster_seat_server_rule_name(enum cluster_seat_server_rule rule)
{
    return (uint32_t)rule < CLUSTER_SEAT_SERVER_RULE_COUNT ? rule_names[rule] : "?";
}

int cluster_seat_server_open(struct cluster_metastore *store,
                             const struct cluster_seat_rights *rights,
                             struct cluster_seat_server **out)
{
    struct cluster_seat_server *server = calloc(1, sizeof *server);

    *out = server;
    if (!server)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "the seat of the metastore: out of memory");
    server->store = store;
    server->rights = rights;
    hub_list_init(&server->peers);
    hub_list_init(&server->busy);
    return 0;
}

void cluster_seat_server_close(struct cluster_seat_server *server)
{
    if (!server)
        return;
    while (!hub_list_empty(&server->peers))
        cluster_seat_server_detach(
            HUB_LIST_ITEM(server->peers.next, struct cluster_seat_peer, link));
    server->closing = true;
    if (server->txns == 0 && server->reads == 0)
        free(server);
}

/* ---- nodes ---- */

static int check_place(struct cluster_seat_server *server, uint32_t node)
{
    HUB_LIST_EACH (&server->peers, link)
        if (HUB_LIST_ITEM(link, struct cluster_seat_peer, link)->node.node == node)
            return rapahub_fail(RAPAHUB_EBUSY, "cluster.store.seat.peers",
                                "the seat serves node %u by another link", node);
    if (server->peers_count >= CLUSTER_SEAT_SERVER_PEERS_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.store.seat.peers",
                            "the seat serves %d nodes, and takes no more",
                            CLUSTER_SEAT_SERVER_PEERS_MAX);
    return 0;
}

/* r[impl cluster.store.seat.peers] */
int cluster_seat_server_attach(struct cluster_seat_server *server,
                               const struct cluster_seat_node *node,
                               const struct cluster_seat_link *link, void *user,
                               struct cluster_seat_peer **out)
{
    int r = check_place(server, node->node);
    struct cluster_seat_peer *peer;

    *out = NULL;
    if (r < 0)
        return r;
    peer = calloc(1, sizeof *peer);
    if (!peer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "a node at the seat: out of memory");
    peer->server = server;
    peer->node = *node;
    peer->way = link;
    peer->user = user;
    peer->in.most = CLUSTER_SEAT_REQUEST_MAX;
    hub_list_init(&peer->busy);
    hub_list_init(&peer->waiting);
    hub_list_init(&peer->started);
    hub_list_init(&peer->feeds);
    hub_list_init(&peer->out);
    hub_list_append(&server->peers, &peer->link);
    server->peers_count++;
    *out = peer;
    return 0;
}

static void drop_all(struct cluster_seat_peer *peer)
{
    cluster_seat_feeds_drop(peer);
    cluster_seat_work_drop(peer);
    cluster_seat_peer_drop(peer);
    cluster_seat_pieces_drop(&peer->in);
}

void cluster_seat_server_detach(struct cluster_seat_peer *peer)
{
    drop_all(peer);
    hub_list_remove(&peer->busy);
    hub_list_remove(&peer->link);
    peer->server->peers_count--;
    free(peer);
}

/* ---- frames ---- */

static int take_message(struct cluster_seat_peer *peer, uint8_t *data, size_t size)
{
    struct cluster_seat_request request;
    int r = cluster_seat_message_read_request((struct rapahub_bytes){data, size}, &request);

    if (r < 0) {
        free(data);
        return cluster_seat_peer_broke(peer, CLUSTER_SEAT_SERVER_FORM, r);
    }
    peer->server->requests++;
    if (request.kind != CLUSTER_SEAT_WATCH && request.kind != CLUSTER_SEAT_UNWATCH)
        return cluster_seat_work_take(peer, &request, data, size);
    if (request.kind == CLUSTER_SEAT_WATCH)
        r = cluster_seat_feeds_open(peer, &request);
    else
        cluster_seat_feeds_end(peer, request.number);
    free(data);
    return r;
}

/* r[impl cluster.store.seat.hostile] */
int cluster_seat_server_frame(struct cluster_seat_peer *peer, uint8_t type,
                              const struct cluster_body *body)
{
    uint8_t *data;
    size_t size;
    int r;

    if (peer->broken)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.hostile",
                            "node %u is about to be hung up", peer->node.node);
    if (type != CLUSTER_FRAME_STORE_REQUEST)
        return cluster_seat_peer_broke(peer, CLUSTER_SEAT_SERVER_FORM,
                                       rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.store.seat.hostile",
                                                    "node %u sends the seat a %s", peer->node.node,
                                                    cluster_frame_name(type)));
    r = cluster_seat_pieces_take(&peer->in, type, &body->piece, &data, &size);
    if (r == RAPAHUB_EPROTOCOL)
        return cluster_seat_peer_broke(peer, CLUSTER_SEAT_SERVER_FORM, r);
    if (r != 0)
        return r < 0 ? r : 0;
    return take_message(peer, data, size);
}

/* ---- steps ---- */

/* Each node has one request begun in its turn, so that none waits for all of another. */
static void start_all(struct cluster_seat_server *server)
{
    bool any = true;

    while (any) {
        any = false;
        HUB_LIST_EACH (&server->busy, link) {
            struct cluster_seat_peer *peer = HUB_LIST_ITEM(link, struct cluster_seat_peer, busy);

            any |= !peer->broken && cluster_seat_work_start(peer);
        }
    }
}

/* Watches go on before later requests are begun, so that one from a revision to come is seen as
 * such. */
static void make_room(struct cluster_seat_peer *peer, uint64_t now_ns)
{
    if (peer->broken)
        return;
    (void)cluster_seat_peer_send(peer, now_ns);
    (void)cluster_seat_feeds_go_on(peer);
}

static uint64_t serve(struct cluster_seat_peer *peer, uint64_t now_ns)
{
    bool all = peer->broken || cluster_seat_feeds_go_on(peer);
    uint64_t due_ns = peer->broken ? HUB_NEVER : cluster_seat_peer_send(peer, now_ns);

    if (peer->broken)
        drop_all(peer);
    if (all && hub_list_empty(&peer->waiting) && hub_list_empty(&peer->out))
        hub_list_remove(&peer->busy);
    return due_ns;
}

void cluster_seat_server_step(struct cluster_seat_server *server, uint64_t now_ns,
                              uint64_t *out_next_ns)
{
    *out_next_ns = HUB_NEVER;
    HUB_LIST_EACH (&server->busy, link)
        make_room(HUB_LIST_ITEM(link, struct cluster_seat_peer, busy), now_ns);
    start_all(server);
    HUB_LIST_EACH (&server->busy, link) {
        uint64_t due_ns = serve(HUB_LIST_ITEM(link, struct cluster_seat_peer, busy), now_ns);

        if (due_ns < *out_next_ns)
            *out_next_ns = due_ns;
    }
}

void cluster_seat_server_stats(struct cluster_seat_server *server,
                               struct cluster_seat_server_stats *out)
{
    *out = (struct cluster_seat_server_stats){
        .peers = server->peers_count, .watches = server->watches, .requests = server->requests};
    HUB_LIST_EACH (&server->peers, link)
        out->out_bytes += HUB_LIST_ITEM(link, struct cluster_seat_peer, link)->out_bytes;
    for (unsigned i = 0; i < CLUSTER_SEAT_SERVER_RULE_COUNT; i++)
        out->broken[i] = server->broken[i];
}
