/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/seat_way.h"

#include <inttypes.h>

#include <rapahub/error.h>

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/seat/seat_client.h"

/* ---- the links tell ---- */

static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    struct cluster_seat_way *way = user;

    (void)session, (void)boot;
    if (node != cluster_peer_links_dialled(way->links) && node != way->seat)
        return; /* the seat may have dialled this node */
    way->node = way->seat = node;
    cluster_seat_client_link_up(way->store);
}

static void on_lost(void *user, uint32_t node)
{
    struct cluster_seat_way *way = user;

    if (node != way->node)
        return;
    way->node = 0;
    cluster_seat_client_link_down(way->store);
}

static int on_frame(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    const struct cluster_seat_way *way = user;
    struct cluster_body body;
    int r = cluster_body_read(header->type, bytes, &body);

    if (r == 0 && from != way->node)
        r = rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.nodes.frame",
                         "a %s of node %" PRIu32 ", which is not the seat",
                         cluster_frame_name(header->type), from);
    return r < 0 ? r : cluster_seat_client_frame(way->store, header->type, &body);
}

static const struct cluster_peer_links_hooks hooks = {on_up, on_lost, on_frame};

/* ---- the metastore asks ---- */

static bool has_room(const void *user)
{
    const struct cluster_seat_way *way = user;

    return cluster_peer_links_has_room(way->links, way->node);
}

static int put(void *user, uint8_t type, const struct cluster_body *body)
{
    const struct cluster_seat_way *way = user;

    return cluster_peer_links_put(way->links, way->node, type, body);
}

static void hang_up(void *user)
{
    const struct cluster_seat_way *way = user;

    cluster_peer_links_hang_up(way->links, way->node);
}

static int fd_of(const void *user)
{
    const struct cluster_seat_way *way = user;

    return cluster_peer_links_fd(way->links);
}

static int begin(void *user, struct cluster_metastore *store, const char *seat,
                 const struct cluster_metastore_options *options)
{
    struct cluster_seat_way *way = user;
    const struct cluster_peer_links_life life = {.node = options->node,
                                                 .boot = options->boot,
                                                 .cluster = options->cluster,
                                                 .tls = options->tls};
    int r = cluster_peer_links_begin(way->links, &life);

    if (r == 0)
        r = cluster_peer_links_dial(way->links, seat);
    if (r < 0)
        return r;
    way->store = store;
    cluster_peer_links_set_user(way->links, CLUSTER_PEER_STORE, &hooks, way);
    return 0;
}

static uint64_t step(void *user, uint64_t now_ns)
{
    const struct cluster_seat_way *way = user;

    return cluster_peer_links_step(way->links, now_ns);
}

/* r[impl cluster.leave.left] */
static int refused(const void *user)
{
    const struct cluster_seat_way *way = user;

    return !cluster_peer_links_is_none(way->links)
               ? 0
               : rapahub_fail(RAPAHUB_ENOENT, "cluster.leave.left",
                              "this node is no node of the cluster any more, since it has left: a "
                              "machine that is to be one again joins with an empty folder");
}

static void end(void *user)
{
    struct cluster_seat_way *way = user;

    cluster_peer_links_dial_no_more(way->links);
    cluster_peer_links_set_user(way->links, CLUSTER_PEER_STORE, NULL, NULL);
    *way = (struct cluster_seat_way){.links = way->links};
}

const struct cluster_seat_link cluster_seat_way_link = {has_room, put,  hang_up, fd_of,
                                                        begin,    step, refused, end};
