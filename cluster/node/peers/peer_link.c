/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_link.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"

#define TOPIC    "peers"
#define BODY_MAX (((size_t)64 << 20) + 65536)

const struct hub_states cluster_peer_link_states = {
    "peer",
    {[CLUSTER_PEER_LINK_FREE] = {"Free", HUB_TO(CLUSTER_PEER_LINK_GREETING)},
     [CLUSTER_PEER_LINK_GREETING] = {"Greeting", HUB_TO(CLUSTER_PEER_LINK_UP) |
                                                     HUB_TO(CLUSTER_PEER_LINK_DOOMED) |
                                                     HUB_TO(CLUSTER_PEER_LINK_FREE)},
     [CLUSTER_PEER_LINK_UP] = {"Up",
                               HUB_TO(CLUSTER_PEER_LINK_DOOMED) | HUB_TO(CLUSTER_PEER_LINK_FREE)},
     [CLUSTER_PEER_LINK_DOOMED] = {"Doomed", HUB_TO(CLUSTER_PEER_LINK_FREE)}}};

struct cluster_peer_link *cluster_peer_link_find(struct cluster_peer_links *links, uint32_t node)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        if (links->all[i].state == CLUSTER_PEER_LINK_UP && links->all[i].node == node)
            return &links->all[i];
    return NULL;
}

struct cluster_peer_row *cluster_peer_link_row(struct cluster_peer_links *links, uint32_t node)
{
    for (unsigned i = 0; i < CLUSTER_PEER_ROWS_MAX; i++)
        if (links->rows[i].node == node)
            return &links->rows[i];
    return NULL;
}

/* r[impl cluster.nodes.bounds] */
struct cluster_peer_link *cluster_peer_link_place(struct cluster_peer_links *links, uint32_t node)
{
    struct cluster_peer_link *place = NULL;
    unsigned count = 0;

    for (unsigned i = node == 0 ? 0 : 1; i < CLUSTER_PEER_LINKS_MAX; i++) {
        if (links->all[i].state == CLUSTER_PEER_LINK_FREE)
            place = place ? place : &links->all[i];
        else
            count += node != 0 && links->all[i].node == node ? 1 : 0;
    }
    if (place && count < CLUSTER_PEER_LINKS_NODE)
        return place;
    rapahub_fail(RAPAHUB_EBUSY, "cluster.nodes.bounds",
                 "node %" PRIu32 " has %u links, all nodes may have %d", node, count,
                 CLUSTER_PEER_LINKS_MAX);
    return NULL;
}

void cluster_peer_link_tell(struct cluster_peer_link *link)
{
    struct cluster_peer_links *links = link->links;

    for (unsigned i = 0; i < CLUSTER_PEER_USERS; i++) {
        if (!links->hooks[i] || link->told[i] || link->state != CLUSTER_PEER_LINK_UP ||
            (i != CLUSTER_PEER_STORE && link->session == 0))
            continue;
        link->told[i] = true;
        links->hooks[i]->up(links->users[i], link->node, link->session, link->boot);
    }
}

void cluster_peer_link_doom(struct cluster_peer_link *link, const char *why)
{
    if (link->state == CLUSTER_PEER_LINK_DOOMED)
        return;
    if (link->dial)
        snprintf(link->dial->why, sizeof link->dial->why, "%s", why);
    link->links->counts.links -= link->state == CLUSTER_PEER_LINK_UP ? 1 : 0;
    hub_states_move(&cluster_peer_link_states, &link->state, CLUSTER_PEER_LINK_DOOMED, "peer", why);
    (void)eventfd_write(link->links->wake, 1);
}

/* r[impl cluster.nodes.broken] */
void cluster_peer_link_fail(struct cluster_peer_link *link)
{
    const struct rapahub_diagnosis *failure = rapahub_last_error();

    if (link->state == CLUSTER_PEER_LINK_DOOMED)
        return;
    cluster_rule_counts_add(&link->links->counts.broken, failure->rule);
    if (link->state == CLUSTER_PEER_LINK_UP)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the link to node %" PRIu32 " at %s has ended: %s",
                    link->node, link->where, failure->text);
    else if (failure->rule[0] && !link->dial)
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "a link from %s is dropped: %s", link->where,
                    failure->text);
    cluster_peer_link_doom(link, failure->text);
}

void cluster_peer_link_note_refused(struct cluster_peer_links *links)
{
    uint64_t now_ns = hub_clock_now();

    cluster_rule_counts_add(&links->counts.broken, rapahub_last_error()->rule);
    links->counts.refused++;
    if (links->refusal_ns != 0 && now_ns - links->refusal_ns < HUB_SECOND)
        return;
    links->refusal_ns = now_ns;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "node refused: %s (%" PRIu64 " so far)",
                rapahub_last_error()->text, links->counts.refused);
}

static void say_close(struct cluster_peer_link *link, int code, const char *text)
{
    const struct cluster_body body = {.close = {code, {text, strlen(text)}}};

    if (cluster_connection_put(link->connection,
                               &(struct cluster_frame){.type = CLUSTER_FRAME_CLOSE}, &body) == 0)
        (void)cluster_connection_flush(link->connection);
    cluster_peer_link_doom(link, text);
}

void cluster_peer_link_refuse(struct cluster_peer_link *link, int code)
{
    char text[300];

    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    cluster_peer_link_note_refused(link->links);
    say_close(link, code, text);
}

void cluster_peer_link_end(struct cluster_peer_link *link, const char *text)
{
    say_close(link, 0, text);
}

/* ---- the socket ---- */

static uint32_t tag_of(const struct cluster_peer_link *link)
{
    return (uint32_t)(link - link->links->all);
}

static int watch(struct cluster_peer_link *link, int how)
{
    short events = cluster_connection_events(link->connection);
    struct epoll_event event = {.data.u32 = tag_of(link)};

    event.events =
        (events & POLLIN ? (uint32_t)EPOLLIN : 0) | (events & POLLOUT ? (uint32_t)EPOLLOUT : 0);
    if (how == EPOLL_CTL_MOD && event.events == link->interest)
        return 0;
    link->interest = event.events;
    return epoll_ctl(link->links->epoll, how, cluster_connection_fd(link->connection), &event) < 0
               ? rapahub_fail(-errno, "", "the socket of a node cannot be watched")
               : 0;
}

void cluster_peer_link_flush(struct cluster_peer_link *link)
{
    if (link->state == CLUSTER_PEER_LINK_DOOMED)
        return;
    if (cluster_connection_flush(link->connection) < 0 || watch(link, EPOLL_CTL_MOD) < 0)
        cluster_peer_link_fail(link);
}

int cluster_peer_link_open(struct cluster_peer_link *link, int fd, struct cluster_tls *tls,
                           const struct cluster_connection_hooks *hooks)
{
    const struct cluster_connection_options options = {.body_max = BODY_MAX,
                                                       .ping_ns = CLUSTER_TLS_PING_NS,
                                                       .silent_ns = CLUSTER_TLS_SILENT_NS,
                                                       .budget = link->links->budget,
                                                       .closer = link->links->closer,
                                                       .transport = &cluster_tls_table,
                                                       .session = tls};
    int r = cluster_connection_create(fd, &options, hooks, link, &link->connection);

    if (r < 0)
        return r;
    link->tls = tls;
    link->hello_ns =
        hub_clock_after(CLUSTER_PEER_LINK_HELLO_NS + (link->dial ? CLUSTER_TLS_HANDSHAKE_NS : 0));
    hub_list_init(&link->waiting);
    hub_states_move(&cluster_peer_link_states, &link->state, CLUSTER_PEER_LINK_GREETING, "peer",
                    link->dial ? "dialled" : "accepted");
    if (watch(link, EPOLL_CTL_ADD) < 0)
        cluster_peer_link_fail(link);
    return 0;
}

static void drop_waiting(struct cluster_peer_link *link)
{
    while (!hub_list_empty(&link->waiting)) {
        struct hub_list *first = link->waiting.next;

        hub_list_remove(first);
        free(first);
    }
}

void cluster_peer_link_close(struct cluster_peer_link *link)
{
    struct cluster_peer_links *links = link->links;

    cluster_peer_link_doom(link, "closed");
    for (unsigned i = 0; i < CLUSTER_PEER_USERS; i++)
        if (link->told[i])
            links->hooks[i]->lost(links->users[i], link->node);
    if (link->dial)
        link->dial->link = NULL;
    drop_waiting(link);
    (void)epoll_ctl(links->epoll, EPOLL_CTL_DEL, cluster_connection_fd(link->connection), NULL);
    cluster_connection_release(&link->connection);
    hub_states_move(&cluster_peer_link_states, &link->state, CLUSTER_PEER_LINK_FREE, "peer",
                    "closed");
    *link = (struct cluster_peer_link){.links = links};
}
