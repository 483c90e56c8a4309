/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_links.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/link/tcp.h"
#include "cluster/link/tls_context.h"
#include "cluster/node/peers/peer_dial.h"
#include "cluster/node/peers/peer_frames.h"
#include "cluster/node/peers/peer_hello.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define BUDGET    (UINT64_C(256) << 20) /* bytes of bodies in parts, of all nodes */
#define EVENTS    64
#define TURNS_MAX 8 /* dispatches of a link whose frames were left */

/* ---- made and released ---- */

static int open_fds(struct cluster_peer_links *self)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = CLUSTER_PEER_LINK_WAKE};

    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->epoll < 0 || self->wake < 0 ||
        epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->wake, &event) < 0)
        return rapahub_fail(-errno, "", "cannot make the descriptors for other nodes");
    return 0;
}

int cluster_peer_links_create(struct cluster_peer_links **out)
{
    OWN(cluster_peer_links) struct cluster_peer_links *self = calloc(1, sizeof *self);
    int r;

    if (!self)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the links to other nodes");
    self->epoll = self->wake = -1;
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        self->all[i].links = self;
    self->budget = hub_budget_create(BUDGET);
    r = self->budget ? hub_closer_create(&self->closer)
                     : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the links to other nodes");
    if (r == 0)
        r = open_fds(self);
    if (r == 0)
        *out = TAKE(self);
    return r;
}

static void close_all(struct cluster_peer_links *self, bool dialled)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        if (self->all[i].state != CLUSTER_PEER_LINK_FREE && (dialled || !self->all[i].dial))
            cluster_peer_link_close(&self->all[i]);
}

void cluster_peer_links_release(struct cluster_peer_links **self)
{
    struct cluster_peer_links *gone = *self;

    *self = NULL;
    if (!gone)
        return;
    close_all(gone, true);
    cluster_peer_dial_end(&gone->seat);
    for (unsigned i = 0; i < CLUSTER_PEER_ROWS_MAX; i++)
        cluster_peer_dial_end(&gone->rows[i].dial);
    cluster_tls_context_release(&gone->context);
    hub_fd_release(&gone->epoll);
    hub_fd_release(&gone->wake);
    hub_closer_release(&gone->closer);
    hub_budget_drop(&gone->budget);
    free(gone);
}

/* ---- this node ---- */

int cluster_peer_links_begin(struct cluster_peer_links *self,
                             const struct cluster_peer_links_life *life)
{
    int r = cluster_tls_open(life->tls, "node", &self->context);

    if (r < 0)
        return r;
    if (self->context->own.kind != CLUSTER_PEER_NODE || self->context->own.node != life->node)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.nodes.hello",
                            "%s/node.pem is not of node %" PRIu32 ", whose folder it is in",
                            life->tls, life->node);
    self->node = life->node;
    self->boot = life->boot;
    memcpy(self->cluster, life->cluster, sizeof self->cluster);
    snprintf(self->folder, sizeof self->folder, "%s", life->tls);
    return 0;
}

void cluster_peer_links_set_session(struct cluster_peer_links *self, uint64_t session)
{
    self->session = session;
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++) {
        struct cluster_peer_link *link = &self->all[i];

        if (link->state != CLUSTER_PEER_LINK_UP)
            continue;
        if (cluster_peer_hello_say(link, CLUSTER_FRAME_HELLO) < 0)
            cluster_peer_link_fail(link);
        else
            cluster_peer_link_flush(link);
    }
}

void cluster_peer_links_set_user(struct cluster_peer_links *self, enum cluster_peer_user which,
                                 const struct cluster_peer_links_hooks *hooks, void *user)
{
    self->left[which] = !hooks && self->hooks[which];
    self->hooks[which] = hooks;
    self->users[which] = user;
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++) {
        self->all[i].told[which] = false;
        cluster_peer_link_tell(&self->all[i]);
    }
}

void cluster_peer_links_set_guard(struct cluster_peer_links *self,
                                  const struct cluster_tls_hooks *guard, void *user)
{
    self->guard = guard;
    self->guard_user = user;
}

static void refuse_revoked(struct cluster_peer_link *link)
{
    if (link->state == CLUSTER_PEER_LINK_FREE || link->state == CLUSTER_PEER_LINK_DOOMED ||
        !cluster_tls_is_revoked(link->tls))
        return;
    rapahub_fail(RAPAHUB_EACCES, "cluster.link.certificate",
                 "the certificate of node %u was revoked",
                 (unsigned)cluster_tls_peer(link->tls)->node);
    cluster_peer_link_refuse(link, RAPAHUB_EACCES);
}

/* r[impl cluster.link.revoked] */
void cluster_peer_links_look_at_certificates(struct cluster_peer_links *self)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        refuse_revoked(&self->all[i]);
    if (self->context && cluster_tls_context_renew(self->context, self->folder, "node") < 0)
        rapahub_log(RAPAHUB_LOG_ERROR, "peers", "the certificate of before goes on: %s",
                    rapahub_last_error()->text);
}

/* ---- taken ---- */

void cluster_peer_links_take(struct cluster_peer_links *self, int fd, struct cluster_tls *tls,
                             const char *from)
{
    struct cluster_peer_link *link = cluster_peer_link_place(self, cluster_tls_peer(tls)->node);

    if (!link) {
        cluster_peer_link_note_refused(self);
        cluster_tls_release(&tls);
        cluster_tcp_close(&fd);
        return;
    }
    link->node = cluster_tls_peer(tls)->node;
    snprintf(link->where, sizeof link->where, "%s", from);
    if (cluster_peer_link_open(link, fd, tls, &cluster_peer_frames_hooks) < 0)
        *link = (struct cluster_peer_link){.links = self};
    else
        (void)eventfd_write(self->wake, 1); /* the step says when its time is over */
}

void cluster_peer_links_close_taken(struct cluster_peer_links *self)
{
    close_all(self, false);
}

int cluster_peer_links_dial(struct cluster_peer_links *self, const char *to)
{
    return cluster_peer_dial_begin(self, to);
}

void cluster_peer_links_dial_no_more(struct cluster_peer_links *self)
{
    cluster_peer_dial_end(&self->seat);
}

uint32_t cluster_peer_links_dialled(const struct cluster_peer_links *self)
{
    const struct cluster_peer_link *link = self->seat.link;

    return link && link->state == CLUSTER_PEER_LINK_UP ? link->node : 0;
}

uint64_t cluster_peer_links_session(struct cluster_peer_links *self, uint32_t node)
{
    const struct cluster_peer_link *link = cluster_peer_link_find(self, node);

    return link ? link->session : 0;
}

/* ---- sent ---- */

bool cluster_peer_links_is_fenced(const struct cluster_peer_links *self)
{
    return self->fenced;
}

bool cluster_peer_links_is_none(const struct cluster_peer_links *self)
{
    return self->none;
}

int cluster_peer_links_send(struct cluster_peer_links *self, uint32_t node,
                            const struct cluster_frame *header, struct rapahub_bytes body)
{
    struct cluster_peer_link *link = cluster_peer_link_find(self, node);
    int r;

    if (!link || link->session == 0)
        return rapahub_fail(-ENOTCONN, "", "no link to node %" PRIu32 " is up", node);
    r = cluster_peer_frames_send(link, header, body);
    if (r < 0)
        cluster_peer_link_fail(link);
    else
        cluster_peer_link_flush(link);
    return r;
}

bool cluster_peer_links_has_room(const struct cluster_peer_links *self, uint32_t node)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        if (self->all[i].state == CLUSTER_PEER_LINK_UP && self->all[i].node == node)
            return !cluster_connection_waits(self->all[i].connection);
    return false;
}

int cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                           const struct cluster_body *body)
{
    struct cluster_peer_link *link = cluster_peer_link_find(self, node);
    int r;

    if (!link)
        return rapahub_fail(-ENOTCONN, "", "no link to node %" PRIu32 " is up", node);
    r = cluster_connection_put(link->connection, &(struct cluster_frame){.type = type}, body);
    if (r < 0)
        cluster_peer_link_fail(link);
    else
        cluster_peer_link_flush(link);
    return r;
}

void cluster_peer_links_hang_up(struct cluster_peer_links *self, uint32_t node)
{
    struct cluster_peer_link *link = cluster_peer_link_find(self, node);

    if (!link)
        return;
    rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.nodes.frame",
                 "node %" PRIu32 " does not do what it must", node);
    cluster_peer_link_fail(link);
}

/* ---- steps ---- */

static void serve(struct cluster_peer_link *link, uint64_t now_ns)
{
    unsigned turns = 0;

    do {
        if (link->state == CLUSTER_PEER_LINK_DOOMED || link->state == CLUSTER_PEER_LINK_FREE)
            return;
        if (cluster_connection_dispatch(link->connection, now_ns) < 0) {
            cluster_peer_link_fail(link);
            return;
        }
    } while (cluster_connection_due(link->connection) == 0 && ++turns < TURNS_MAX);
    cluster_peer_link_flush(link);
}

/* r[impl cluster.nodes.hello] */
static void end_silent(struct cluster_peer_link *link, uint64_t now_ns)
{
    if (link->state != CLUSTER_PEER_LINK_GREETING || now_ns < link->hello_ns)
        return;
    rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.nodes.hello", "it has not said who it is");
    cluster_peer_link_fail(link);
}

static uint64_t due_of(const struct cluster_peer_link *link)
{
    uint64_t due_ns;

    if (link->state == CLUSTER_PEER_LINK_FREE)
        return HUB_NEVER;
    if (link->state == CLUSTER_PEER_LINK_DOOMED)
        return 0;
    due_ns = cluster_connection_due(link->connection);
    return link->state == CLUSTER_PEER_LINK_GREETING && link->hello_ns < due_ns ? link->hello_ns
                                                                                : due_ns;
}

static void serve_readable(struct cluster_peer_links *self, uint64_t now_ns)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(self->epoll, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        eventfd_t rung;

        if (events[i].data.u32 == CLUSTER_PEER_LINK_WAKE)
            (void)eventfd_read(self->wake, &rung);
        else
            serve(&self->all[events[i].data.u32], now_ns);
    }
}

static void close_doomed(struct cluster_peer_links *self, uint64_t now_ns)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++) {
        struct cluster_peer_link *link = &self->all[i];

        if (link->state != CLUSTER_PEER_LINK_DOOMED)
            continue;
        if (link->dial)
            cluster_peer_dial_lost(link->dial, now_ns);
        cluster_peer_link_close(link);
    }
}

static uint64_t dial(struct cluster_peer_links *self, uint64_t now_ns)
{
    uint64_t next_ns = cluster_peer_dial_step(self, &self->seat, now_ns);

    for (unsigned i = 0; i < CLUSTER_PEER_ROWS_MAX; i++) {
        uint64_t due_ns = cluster_peer_dial_step(self, &self->rows[i].dial, now_ns);

        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

uint64_t cluster_peer_links_step(struct cluster_peer_links *self, uint64_t now_ns)
{
    uint64_t next_ns;

    serve_readable(self, now_ns);
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++) {
        end_silent(&self->all[i], now_ns);
        if (due_of(&self->all[i]) <= now_ns)
            serve(&self->all[i], now_ns);
    }
    close_doomed(self, now_ns);
    next_ns = dial(self, now_ns);
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++)
        if (due_of(&self->all[i]) < next_ns)
            next_ns = due_of(&self->all[i]);
    return next_ns;
}

int cluster_peer_links_fd(const struct cluster_peer_links *self)
{
    return self->epoll;
}

const struct cluster_peer_links_counts *cluster_peer_links_counts(
    const struct cluster_peer_links *self)
{
    return &self->counts;
}
