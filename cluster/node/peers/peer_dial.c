/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_dial.h"

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
#define SAY_NS         (60 * HUB_SECOND)      /* between two lines of the log */

int cluster_peer_dial_begin(struct cluster_peer_links *links, const char *to)
{
    struct cluster_peer_dial *dial = &links->dial;
    int r;

    cluster_peer_dial_end(links);
    r = cluster_host_port_parse(to, &dial->to);
    if (r < 0)
        return r;
    dial->wanted = true;
    dial->back_off_ns = BACK_OFF_FIRST;
    return 0;
}

void cluster_peer_dial_end(struct cluster_peer_links *links)
{
    cluster_name_lookup_release(&links->dial.lookup);
    links->dial = (struct cluster_peer_dial){.link = links->dial.link};
}

/* People are told at once, when the reason is another one, and then once in a while.
 * r[impl cluster.nodes.dial] */
static void say(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    if (dial->said_ns != 0 && now_ns - dial->said_ns < SAY_NS && strcmp(dial->said, dial->why) == 0)
        return;
    dial->said_ns = now_ns;
    snprintf(dial->said, sizeof dial->said, "%s", dial->why);
    rapahub_log(
        RAPAHUB_LOG_WARN, TOPIC,
        "the node at %s, which has the metastore, is away: %s: it is dialled until it is there",
        dial->to.host, dial->why);
}

/* r[impl cluster.nodes.dial] */
static void back_off(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    say(dial, now_ns);
    dial->next_ns = now_ns + dial->back_off_ns;
    dial->back_off_ns =
        2 * dial->back_off_ns < BACK_OFF_MOST ? 2 * dial->back_off_ns : BACK_OFF_MOST;
}

void cluster_peer_dial_lost(struct cluster_peer_links *links, uint64_t now_ns)
{
    if (links->dial.wanted)
        back_off(&links->dial, now_ns);
}

/* ---- addresses ---- */

/* Returns 1 where there is an address that was not tried; 0: a look-up goes on. */
static int begin_lookup(struct cluster_peer_dial *dial, uint64_t now_ns)
{
    dial->tried = 0;
    dial->found.count = 0;
    if (cluster_host_port_in_numbers(&dial->to, &dial->found.addresses[0])) {
        dial->found.count = 1;
        return 1;
    }
    dial->lookup_ns = now_ns + LOOKUP_NS;
    return cluster_name_lookup_start(&dial->to, &dial->lookup);
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

static struct cluster_peer_link *find_free(struct cluster_peer_links *links)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        if (links->all[i].state == CLUSTER_PEER_LINK_FREE)
            return &links->all[i];
    rapahub_fail(RAPAHUB_EFULL, "cluster.nodes.bounds", "%d links to nodes are open",
                 CLUSTER_PEER_LINKS_MAX);
    return NULL;
}

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

static int dial_next(struct cluster_peer_links *links)
{
    struct cluster_peer_dial *dial = &links->dial;
    const struct cluster_host_port_address *address = &dial->found.addresses[dial->tried++];
    struct cluster_peer_link *link = find_free(links);
    struct cluster_tls *session = NULL;
    int fd = -1, r;

    if (!link)
        return RAPAHUB_EFULL;
    r = connect_to(links, address, &fd, &session);
    if (r < 0)
        return r;
    cluster_host_port_print(address, link->where);
    link->dialled = true;
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
    dial->back_off_ns = BACK_OFF_FIRST;
    if (dial->said_ns != 0)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the node at %s is there again", dial->to.host);
    dial->said_ns = 0;
}

uint64_t cluster_peer_dial_step(struct cluster_peer_links *links, uint64_t now_ns)
{
    struct cluster_peer_dial *dial = &links->dial;
    int r;

    if (!dial->wanted || !links->context)
        return HUB_NEVER;
    if (dial->link && dial->link->state == CLUSTER_PEER_LINK_UP)
        note_up(dial);
    if (dial->link)
        return HUB_NEVER;
    if (now_ns < dial->next_ns)
        return dial->next_ns;
    r = look_up(dial, now_ns);
    if (r == 0)
        return now_ns + LOOK_NS;
    if (r > 0)
        r = dial_next(links);
    if (r == 0)
        return HUB_NEVER;
    snprintf(dial->why, sizeof dial->why, "%s", rapahub_last_error()->text);
    back_off(dial, now_ns);
    return dial->next_ns;
}
