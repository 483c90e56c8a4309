/* SPDX-License-Identifier: Apache-2.0 */
/* peers_stage: nodes of one cluster, each with its links, and a port at which node 1 takes others
 * as a node does: after their handshake. */
#ifndef TESTS_UNIT_CLUSTER_NODE_PEERS_STAGE_H
#define TESTS_UNIT_CLUSTER_NODE_PEERS_STAGE_H

#include <stdlib.h>
#include <sys/stat.h>

#include <rapahub/error.h>

#include "cluster/link/connection.h"
#include "cluster/link/host_port.h"
#include "cluster/link/tcp.h"
#include "cluster/link/tls_context.h"
#include "cluster/node/peers/peer_links.h"
#include "hub/base/own.h"
#include "tests/support/pause.h"
#include "tests/unit/cluster-link/identities.h"

#define PEERS      __attribute__((unused)) static
#define PEERS_MOST 4
#define PEERS_WAIT (60 * HUB_SECOND) /* for what has no reason not to come */

#define PEERS_POOL ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)
#define SESSION(n) (UINT64_C(1) << 52 | (100 + (uint64_t)(n)))

/* A node, and what it was told last of another one. */
struct peers_node {
    struct cluster_peer_links *links;
    uint32_t up[CLUSTER_PEER_USERS]; /* a bit for each node that is */
    unsigned ups[CLUSTER_PEER_USERS], losses[CLUSTER_PEER_USERS];
    uint64_t session;
    uint32_t boot;
    unsigned frames;
    struct cluster_frame header; /* of the last one */
    uint8_t *body;
    size_t size;
    int verdict; /* of a frame */
};

struct peers_stage {
    char folder[64], folders[PEERS_MOST + 1][IDENTITY_PATH]; /* by number of the node */
    struct cluster_ca ca;
    struct cluster_tls_context *context; /* of node 1, as a server */
    int listener, fd;                    /* fd: of one whose handshake goes on; -1: none */
    struct cluster_tls *tls;             /* its session */
    char address[CLUSTER_HOST_PORT_TEXT];
    bool deaf; /* nobody is accepted */
    struct peers_node nodes[PEERS_MOST];
};

/* ---- what a node is told ---- */

PEERS bool peers_is_up(const struct peers_node *node, enum cluster_peer_user which, uint32_t peer)
{
    return (node->up[which] & UINT32_C(1) << peer) != 0;
}

PEERS void peers_up(struct peers_node *node, enum cluster_peer_user which, uint32_t peer,
                    uint64_t session, uint32_t boot)
{
    assert_false(peers_is_up(node, which, peer));
    node->up[which] |= UINT32_C(1) << peer;
    node->ups[which]++;
    node->session = session;
    node->boot = boot;
}

PEERS void peers_lost(struct peers_node *node, enum cluster_peer_user which, uint32_t peer)
{
    assert_true(peers_is_up(node, which, peer));
    node->up[which] &= ~(UINT32_C(1) << peer);
    node->losses[which]++;
}

PEERS void peers_store_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    peers_up(user, CLUSTER_PEER_STORE, node, session, boot);
}

PEERS void peers_calls_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    peers_up(user, CLUSTER_PEER_CALLS, node, session, boot);
}

PEERS void peers_steps_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    peers_up(user, CLUSTER_PEER_STEPS, node, session, boot);
}

PEERS void peers_steps_lost(void *user, uint32_t node)
{
    peers_lost(user, CLUSTER_PEER_STEPS, node);
}

PEERS void peers_store_lost(void *user, uint32_t node)
{
    peers_lost(user, CLUSTER_PEER_STORE, node);
}

PEERS void peers_calls_lost(void *user, uint32_t node)
{
    peers_lost(user, CLUSTER_PEER_CALLS, node);
}

PEERS int peers_frame(void *user, uint32_t from, const struct cluster_frame *header,
                      struct rapahub_bytes body)
{
    struct peers_node *node = user;

    assert_true(peers_is_up(node, CLUSTER_PEER_STORE, from));
    node->frames++;
    node->header = *header;
    free(node->body);
    node->body = malloc(body.size + 1);
    memcpy(node->body, body.data, body.size);
    node->size = body.size;
    return node->verdict == 0 ? 0 : rapahub_fail(node->verdict, "cluster.nodes.frame", "a reason");
}

PEERS const struct cluster_peer_links_hooks peers_store = {peers_store_up, peers_store_lost,
                                                           peers_frame};
PEERS const struct cluster_peer_links_hooks peers_calls = {peers_calls_up, peers_calls_lost,
                                                           peers_frame};
PEERS const struct cluster_peer_links_hooks peers_steps = {peers_steps_up, peers_steps_lost,
                                                           peers_frame};

/* ---- the stage ---- */

/* Node `at` of the stage begins as this life. */
PEERS void peers_begin(struct peers_stage *stage, unsigned at, uint32_t number, uint32_t boot)
{
    struct peers_node *node = &stage->nodes[at];
    const struct cluster_peer_links_life life = {
        .node = number, .boot = boot, .cluster = stage->ca.uuid, .tls = stage->folders[number]};

    *node = (struct peers_node){.links = NULL};
    assert_int_equal(cluster_peer_links_create(&node->links), 0);
    assert_int_equal(cluster_peer_links_begin(node->links, &life), 0);
    cluster_peer_links_set_user(node->links, CLUSTER_PEER_STORE, &peers_store, node);
    cluster_peer_links_set_user(node->links, CLUSTER_PEER_CALLS, &peers_calls, node);
    cluster_peer_links_set_user(node->links, CLUSTER_PEER_STEPS, &peers_steps, node);
}

PEERS void peers_end(struct peers_node *node)
{
    cluster_peer_links_release(&node->links);
    free(node->body);
    node->body = NULL;
}

PEERS void peers_listen(struct peers_stage *stage)
{
    struct cluster_host_port where = {.host = "127.0.0.1"};
    struct cluster_host_port_address address;

    assert_true(cluster_host_port_in_numbers(&where, &address));
    assert_int_equal(cluster_tcp_listen(&address, &stage->listener), 0);
    cluster_host_port_print(&address, stage->address);
}

PEERS int peers_open(void **state)
{
    struct peers_stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    *stage = (struct peers_stage){.folder = "/tmp/rapahub-peers-XXXXXX", .fd = -1};
    assert_non_null(mkdtemp(stage->folder));
    make_authority(&stage->ca, 7);
    for (unsigned number = 1; number <= PEERS_MOST; number++) {
        snprintf(stage->folders[number], IDENTITY_PATH, "%s/%u", stage->folder, number);
        write_node(stage->folders[number], &stage->ca, number);
    }
    assert_int_equal(cluster_tls_open(stage->folders[1], "node", &stage->context), 0);
    peers_listen(stage);
    peers_begin(stage, 0, 1, 5);
    cluster_peer_links_set_session(stage->nodes[0].links, SESSION(1));
    *state = stage;
    return 0;
}

PEERS int peers_close(void **state)
{
    struct peers_stage *stage = *state;

    for (unsigned i = 0; i < PEERS_MOST; i++)
        peers_end(&stage->nodes[i]);
    cluster_tls_release(&stage->tls);
    if (stage->fd >= 0)
        cluster_tcp_close(&stage->fd);
    hub_fd_release(&stage->listener);
    cluster_tls_context_release(&stage->context);
    for (unsigned number = 1; number <= PEERS_MOST; number++)
        remove_identity(stage->folders[number]);
    cluster_ca_fini(&stage->ca);
    assert_int_equal(rmdir(stage->folder), 0);
    free(stage);
    return 0;
}

/* ---- turns ---- */

PEERS void peers_accept(struct peers_stage *stage)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER,
                                                .deadline_ns = hub_clock_after(PEERS_WAIT)};
    struct cluster_host_port_address from;
    int r;

    if (stage->fd < 0) {
        if (stage->deaf || cluster_tcp_accept(stage->listener, &stage->fd, &from) <= 0)
            return;
        assert_int_equal(cluster_tls_create(stage->context, stage->fd, &options, &stage->tls), 0);
    }
    r = cluster_tls_handshake(stage->tls);
    if (r == 0)
        return;
    if (r > 0) {
        cluster_peer_links_take(stage->nodes[0].links, stage->fd, stage->tls, "127.0.0.1:1");
    } else {
        cluster_tls_release(&stage->tls);
        cluster_tcp_close(&stage->fd);
    }
    stage->tls = NULL;
    stage->fd = -1;
}

PEERS void peers_turn(struct peers_stage *stage)
{
    peers_accept(stage);
    for (unsigned i = 0; i < PEERS_MOST; i++)
        if (stage->nodes[i].links)
            (void)cluster_peer_links_step(stage->nodes[i].links, hub_clock_now());
    rapahub_clear_error();
    pause_ms(1);
}

/* Takes turns until `what` is there. */
#define PEERS_UNTIL(stage, what)                         \
    do {                                                 \
        uint64_t until_ns = hub_clock_after(PEERS_WAIT); \
        while (!(what)) {                                \
            if (hub_clock_left(until_ns) == 0)           \
                fail_msg("has not come: %s", #what);     \
            peers_turn(stage);                           \
        }                                                \
    } while (0)

PEERS uint64_t peers_broken(const struct peers_node *node, const char *rule)
{
    const struct cluster_rule_counts *counts = &cluster_peer_links_counts(node->links)->broken;

    for (uint32_t i = 0; i < counts->count; i++)
        if (strcmp(counts->all[i].rule, rule) == 0)
            return counts->all[i].times;
    return 0;
}

/* ---- a side that does as it likes ---- */

struct peers_side {
    struct cluster_tls_context *context;
    struct cluster_tls *tls; /* the connection's, once there is one */
    struct cluster_connection *connection;
    struct hub_closer *closer;
    int fd;
    uint8_t type; /* of the last frame */
    int32_t code;
    char text[300];
    int failure; /* of the connection */
};

PEERS int peers_side_frame(void *user, const struct cluster_frame *frame,
                           const struct cluster_body *body)
{
    struct peers_side *side = user;

    side->type = frame->type;
    if (frame->type == CLUSTER_FRAME_CLOSE) {
        side->code = body->close.code;
        snprintf(side->text, sizeof side->text, "%.*s", (int)body->close.text.size,
                 body->close.text.data);
    }
    return 0;
}

PEERS void peers_side_credit(void *user)
{
    (void)user;
}

PEERS const struct cluster_connection_hooks peers_side_hooks = {peers_side_frame,
                                                                peers_side_credit};

PEERS void peers_side_turn(struct peers_stage *stage, struct peers_side *side)
{
    peers_turn(stage);
    if (side->failure == 0)
        side->failure = cluster_connection_dispatch(side->connection, hub_clock_now());
    rapahub_clear_error();
}

#define PEERS_SIDE_UNTIL(stage, side, what)              \
    do {                                                 \
        uint64_t until_ns = hub_clock_after(PEERS_WAIT); \
        while (!(what)) {                                \
            if (hub_clock_left(until_ns) == 0)           \
                fail_msg("has not come: %s", #what);     \
            peers_side_turn(stage, side);                \
        }                                                \
    } while (0)

/* Connects with the certificate of a node. */
PEERS void peers_side_open(struct peers_stage *stage, struct peers_side *side, uint32_t number)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_CLIENT,
                                                .deadline_ns = hub_clock_after(PEERS_WAIT)};
    struct cluster_connection_options how = {.body_max = CLUSTER_FRAME_BODY_MAX,
                                             .transport = &cluster_tls_table};
    struct cluster_host_port where;
    struct cluster_host_port_address address;

    *side = (struct peers_side){.fd = -1};
    assert_int_equal(hub_closer_create(&side->closer), 0);
    assert_int_equal(cluster_tls_open(stage->folders[number], "node", &side->context), 0);
    assert_int_equal(cluster_host_port_parse(stage->address, &where), 0);
    assert_true(cluster_host_port_in_numbers(&where, &address));
    assert_int_equal(cluster_tcp_connect(&address, &side->fd), 0);
    assert_int_equal(cluster_tls_create(side->context, side->fd, &options, &side->tls), 0);
    how.session = side->tls;
    how.closer = side->closer;
    assert_int_equal(
        cluster_connection_create(side->fd, &how, &peers_side_hooks, side, &side->connection), 0);
    while (!cluster_tls_can_speak(side->tls))
        peers_side_turn(stage, side);
}

PEERS void peers_side_close(struct peers_side *side)
{
    cluster_connection_release(&side->connection);
    cluster_tls_context_release(&side->context);
    hub_closer_release(&side->closer);
}

PEERS void peers_side_put(struct peers_side *side, uint8_t type, const struct cluster_body *body)
{
    assert_int_equal(
        cluster_connection_put(side->connection, &(struct cluster_frame){.type = type}, body), 0);
}

/* A HELLO of a node as it should be. */
PEERS struct cluster_body peers_hello(const struct peers_stage *stage, uint32_t number,
                                      uint32_t boot)
{
    return (struct cluster_body){.hello = {.protocol_least = 1,
                                           .protocol_most = 1,
                                           .role = CLUSTER_ROLE_NODE,
                                           .cluster = {stage->ca.uuid, sizeof stage->ca.uuid},
                                           .node = number,
                                           .boot = boot,
                                           .origin = SESSION(number)}};
}

#endif
