/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/seat_service.h"

#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

/* A node that is served. */
struct served {
    struct cluster_seat_service *service;
    uint32_t node; /* 0: free */
    struct cluster_seat_peer *peer;
};

struct cluster_seat_service {
    struct cluster_peer_links *links;
    struct cluster_seat_server *server;
    struct served all[CLUSTER_PEER_LINKS_MAX];
};

static struct served *find(struct cluster_seat_service *self, uint32_t node)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        if (self->all[i].node == node)
            return &self->all[i];
    return NULL;
}

/* ---- the seat asks the link of a node ---- */

static bool has_room(const void *user)
{
    const struct served *served = user;

    return cluster_peer_links_has_room(served->service->links, served->node);
}

static int put(void *user, uint8_t type, const struct cluster_body *body)
{
    const struct served *served = user;

    return cluster_peer_links_put(served->service->links, served->node, type, body);
}

static void hang_up(void *user)
{
    const struct served *served = user;

    cluster_peer_links_hang_up(served->service->links, served->node);
}

static int fd_of(const void *user)
{
    const struct served *served = user;

    return cluster_peer_links_fd(served->service->links);
}

static const struct cluster_seat_link way = {
    .has_room = has_room, .put = put, .hang_up = hang_up, .fd = fd_of};

/* ---- the links tell ---- */

/* There are as many places as links, and a node has one. */
static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    struct cluster_seat_service *self = user;
    struct served *served = find(self, 0);

    (void)session;
    served->service = self;
    served->node = node;
    if (cluster_seat_server_attach(self->server, &(struct cluster_seat_node){node, boot}, &way,
                                   served, &served->peer) == 0)
        return;
    rapahub_log(RAPAHUB_LOG_ERROR, "peers", "the seat does not serve node %" PRIu32 ": %s", node,
                rapahub_last_error()->text);
    cluster_peer_links_hang_up(self->links, node);
}

static void on_lost(void *user, uint32_t node)
{
    struct served *served = find(user, node);

    if (!served)
        return;
    if (served->peer)
        cluster_seat_server_detach(served->peer);
    *served = (struct served){.node = 0};
}

static int on_frame(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    const struct served *served = find(user, from);
    struct cluster_body body;
    int r = cluster_body_read(header->type, bytes, &body);

    if (r < 0)
        return r;
    return served && served->peer ? cluster_seat_server_frame(served->peer, header->type, &body)
                                  : rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.nodes.frame",
                                                 "node %" PRIu32 " is not served", from);
}

static const struct cluster_peer_links_hooks hooks = {on_up, on_lost, on_frame};

/* ---- made and released ---- */

int cluster_seat_service_create(struct cluster_metastore *store, struct cluster_peer_links *links,
                                struct cluster_seat_service **out)
{
    struct cluster_seat_service *self = calloc(1, sizeof *self);
    int r;

    *out = NULL;
    if (!self)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the seat of the metastore");
    self->links = links;
    r = cluster_seat_server_open(store, &cluster_seat_rights_of_nodes, &self->server);
    if (r < 0) {
        free(self);
        return r;
    }
    cluster_peer_links_set_user(links, CLUSTER_PEER_STORE, &hooks, self);
    *out = self;
    return 0;
}

void cluster_seat_service_release(struct cluster_seat_service **self)
{
    if (*self) {
        cluster_peer_links_set_user((*self)->links, CLUSTER_PEER_STORE, NULL, NULL);
        cluster_seat_server_close((*self)->server);
    }
    free(*self);
    *self = NULL;
}

uint64_t cluster_seat_service_step(struct cluster_seat_service *self, uint64_t now_ns)
{
    uint64_t next_ns;

    cluster_seat_server_step(self->server, now_ns, &next_ns);
    return next_ns;
}
