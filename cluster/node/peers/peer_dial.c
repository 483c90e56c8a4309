/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_dial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/link/tcp.h"
#include "cluster/link/tls_context.h"
#include "cluster/node/peers/peer_frames.h"
#include "cluster/node/peers/peer_hello.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TOPIC          "peers"
#define BACK_OFF_FIRST (100 * HUB_MILLISECOND)
#define BACK_OFF_MOST  (5 * HUB_SECOND)
#define LOOKUP_NS      (5 * HUB_SECOND)
#define LOOK_NS        (20 * HUB_MILLISECOND) /* between two looks at a look-up */
#define NAME_SIZE      320
#define SAY_NS         (60 * HUB_SECOND) /* between two lines of the log */

int cluster_peer_dial_begin(struct cluster_peer_links *links, const char *to)
{
    struct cluster_peer_dial *dial = &links->seat;
    int r;

    cluster_peer_dial_end(dial);
    r = cluster_host_port_parse(to, &dial->to[0]);
    if (r < 0)
        return r;
    dial->to_count = 1;
    dial->wanted = true;
    dial->back_off_ns = BACK_OFF_FIRST;
    return 0;
}

void cluster_peer_dial_hurry(struct cluster_peer_dial *dial)
{
    uint64_t now_ns = hub_clock_now(), first_ns = dial->hurried_ns + BACK_OFF_FIRST;

    dial->next_ns = dial->hurried_ns != 0 && first_ns > now_ns ? first_ns : 0;
    dial->hurried_ns = now_ns;
    dial->back_off_ns = BACK_OFF_FIRST;
}

void cluster_peer_dial_end(struct cluster_peer_dial *dial)
{
    cluster_name_lookup_release(&dial->lookup);
    *dial = (struct cluster_peer_dial){.node = dial->node, .link = dial->link};
}

static void print_name(const struct cluster_peer_dial *dial, char to[NAME_SIZE])
{
    if (dial->node == 0)
        snprintf(to, NAME_SIZE, "the node at %s, which has the metastore,", dial->to[0].host);
    else
        snprintf(to, NAME_SIZE, "node %" PRIu32 " at %s", dial->node, dial->to[0].host);
}

/* People are told at once, when the reason is another one, and then once in a while.
 * r[impl cluster.nodes.dial] */
static void say(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    char name[NAME_SIZE];

    if (dial->said_ns != 0 && now_ns - dial->said_ns < SAY_NS && strcmp(dial->said, dial->why) == 0)
        return;
    dial->said_ns = now_ns;
    snprintf(dial->said, sizeof dial->said, "%s", dial->why);
    print_name(dial, name);
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s is away: %s: it is dialled until it is there", name,
                dial->why);
}

/* r[impl cluster.nodes.dial] */
static void back_off(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    say(dial, now_ns);
    dial->next_ns = now_ns + dial->back_off_ns;
    dial->back_off_ns =
        2 * dial->back_off_ns < BACK_OFF_MOST ? 2 * dial->back_off_ns : BACK_OFF_MOST;
}

void cluster_peer_dial_lost(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    if (dial->wanted)
        back_off(dial, now_ns);
}

/* ---- addresses ---- */

/* Returns 1 where there is an address that was not tried; 0: a look-up goes on. */
static int begin_lookup(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    const struct cluster_host_port *to = &dial->to[dial->to_next++ % dial->to_count];

    dial->tried = 0;
    dial->found.count = 0;
    if (cluster_host_port_in_numbers(to, &dial->found.addresses[0])) {
        dial->found.count = 1;
        return 1;
    }
    dial->lookup_ns = now_ns + LOOKUP_NS;
    return cluster_name_lookup_start(to, &dial->lookup);
}

static int look_up(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    int r = 0;

    if (!dial->lookup && dial->tried < dial->found.count)
        return 1;
    if (!dial->lookup)
        r = begin_lookup(dial, now_ns);
    if (r != 0)
        return r;
    r = cluster_name_lookup_take(dial->lookup, &dial->found);
    if (r == 0 && now_ns >= dial->lookup_ns)
        r = rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the name was not found in 5 s");
    if (r != 0)
        cluster_name_lookup_release(&dial->lookup);
    return r;
}

/* ---- dialled ---- */

static bool is_revoked(void *user, const uint8_t *serial, size_t size)
{
    const struct cluster_peer_links *links = user;

    return links->guard && links->guard->is_revoked(links->guard_user, serial, size);
}

static const struct cluster_tls_hooks tls_hooks = {is_revoked};

static int connect_to(struct cluster_peer_links *links,
                      const struct cluster_host_port_address *address, int *fd,
                      struct cluster_tls **session)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_CLIENT,
                                                .deadline_ns =
                                                    hub_clock_after(CLUSTER_TLS_HANDSHAKE_NS),
                                                .hooks = &tls_hooks,
                                                .user = links};
    OWN(hub_fd) int socket = -1;
    int r = cluster_tcp_connect(address, &socket);

    if (r == 0)
        r = cluster_tls_create(links->context, socket, &options, session);
    if (r == 0)
        *fd = TAKE(socket);
    return r;
}

static int dial_next(struct cluster_peer_links *links, struct cluster_peer_dial *dial)
{
    const struct cluster_host_port_address *address = &dial->found.addresses[dial->tried++];
    struct cluster_peer_link *link = cluster_peer_link_place(links, dial->node);
    struct cluster_tls *session = NULL;
    int fd = -1, r;

    if (!link)
        return RAPAHUB_EBUSY;
    r = connect_to(links, address, &fd, &session);
    if (r < 0)
        return r;
    cluster_host_port_print(address, link->where);
    link->dial = dial;
    link->node = dial->node;
    r = cluster_peer_link_open(link, fd, session, &cluster_peer_frames_hooks);
    if (r < 0) {
        *link = (struct cluster_peer_link){.links = links};
        return r;
    }
    dial->link = link;
    if (cluster_peer_hello_say(link, CLUSTER_FRAME_HELLO) < 0)
        cluster_peer_link_fail(link);
    else
        cluster_peer_link_flush(link);
    return 0;
}

static void note_up(struct cluster_peer_dial *dial)
{
    char name[NAME_SIZE];

    dial->back_off_ns = BACK_OFF_FIRST;
    print_name(dial, name);
    if (dial->said_ns != 0)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "%s is there again", name);
    dial->said_ns = 0;
}

/* The node may have dialled this one; so may the seat, once its number is known. */
static bool is_linked(struct cluster_peer_links *links, const struct cluster_peer_dial *dial)
{
    uint32_t node = dial == &links->seat ? links->seat_node : dial->node;

    return dial->link || (node != 0 && cluster_peer_link_find(links, node));
}

uint64_t cluster_peer_dial_step(struct cluster_peer_links *links, struct cluster_peer_dial *dial,
                                uint64_t now_ns)
{
    int r;

    if (!dial->wanted || !links->context)
        return HUB_NEVER;
    if (dial->link && dial->link->state == CLUSTER_PEER_LINK_UP)
        note_up(dial);
    if (is_linked(links, dial))
        return HUB_NEVER;
    if (now_ns < dial->next_ns)
        return dial->next_ns;
    r = look_up(dial, now_ns);
    if (r == 0)
        return now_ns + LOOK_NS;
    if (r > 0)
        r = dial_next(links, dial);
    if (r == 0)
        return HUB_NEVER;
    snprintf(dial->why, sizeof dial->why, "%s", rapahub_last_error()->text);
    back_off(dial, now_ns);
    return dial->next_ns;
}
