/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_handshakes.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/link/tcp.h"
#include "cluster/link/tls_context.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TOPIC "clients"
#define TEXT                                                                            \
    (CLUSTER_HOST_PORT_HOST + 16) /* bytes of an address as it is written, with its end \
                                   */

void cluster_client_handshakes_init(struct cluster_client_handshakes *self, int epoll,
                                    uint32_t first_tag, const struct cluster_tls_hooks *hooks,
                                    void *user)
{
    *self = (struct cluster_client_handshakes){
        .epoll = epoll, .first_tag = first_tag, .hooks = hooks, .user = user};
    for (unsigned i = 0; i < CLUSTER_HANDSHAKES_MAX; i++)
        self->all[i].fd = -1;
}

/* ---- listeners ---- */

static int watch(const struct cluster_client_handshakes *self, int fd, int how, uint32_t tag,
                 short events)
{
    struct epoll_event event = {.data.u32 = tag};

    event.events =
        (events & POLLIN ? (uint32_t)EPOLLIN : 0) | (events & POLLOUT ? (uint32_t)EPOLLOUT : 0);
    return epoll_ctl(self->epoll, how, fd, &event) < 0
               ? rapahub_fail(-errno, "", "cannot watch a socket")
               : 0;
}

static int listen_at(struct cluster_client_handshakes *self, const struct cluster_host_port *where)
{
    unsigned at = self->listeners_count;
    struct cluster_host_port_address *address = &self->addresses[at];
    char printed[CLUSTER_HOST_PORT_TEXT];
    int r;

    if (at == CLUSTER_HANDSHAKES_LISTENERS)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a node listens at most at %d addresses",
                            CLUSTER_HANDSHAKES_LISTENERS);
    if (!cluster_host_port_in_numbers(where, address))
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "'%s' is a name; a node listens at an address in numbers, or at *",
                            where->host);
    r = cluster_tcp_listen(address, &self->listeners[at]);
    if (r < 0)
        return r;
    self->listeners_count++;
    cluster_host_port_print(address, printed);
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "clients with a certificate may come to %s", printed);
    return watch(self, self->listeners[at], EPOLL_CTL_ADD, self->first_tag + at, POLLIN);
}

static int listen_at_all(struct cluster_client_handshakes *self, const char *list)
{
    struct cluster_host_port where;
    int r, listens = 0;

    while (listens == 0 && (r = cluster_host_port_next(&list, &where)) != 0)
        listens = r < 0 ? r : listen_at(self, &where);
    return listens;
}

static int check_identity(const struct cluster_client_handshakes *self, const char *folder,
                          const struct cluster_peer_name *node)
{
    const struct cluster_peer_name *own = &self->context->own;

    if (memcmp(own->uuid, node->uuid, sizeof own->uuid) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.client.network",
                            "%s/node.pem is of another cluster", folder);
    if (own->kind != CLUSTER_PEER_NODE || own->node != node->node)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.client.network",
                            "%s/node.pem is not of this node, which has the number %u", folder,
                            (unsigned)node->node);
    if (cluster_tls_check_dates(self->context) < 0)
        rapahub_log(RAPAHUB_LOG_ERROR, TOPIC,
                    "no client can come over the network: %s/node.pem: %s", folder,
                    rapahub_last_error()->text);
    return 0;
}

/* r[impl cluster.client.network] */
int cluster_client_handshakes_open(struct cluster_client_handshakes *self, const char *listen,
                                   const char *folder, const struct cluster_peer_name *node)
{
    int r = cluster_tls_open(folder, "node", &self->context);

    snprintf(self->folder, sizeof self->folder, "%s", folder);
    if (r == RAPAHUB_ENOENT)
        return rapahub_fail(r, "cluster.client.network",
                            "this node has no certificate: %s; rapahub node init makes one",
                            folder);
    if (r == 0)
        r = check_identity(self, folder, node);
    return r < 0 ? r : listen_at_all(self, listen);
}

void cluster_client_handshakes_renew(struct cluster_client_handshakes *self)
{
    if (self->context && cluster_tls_context_renew(self->context, self->folder, "node") < 0)
        rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "the certificate of before goes on: %s",
                    rapahub_last_error()->text);
}

bool cluster_client_handshakes_is_listener(const struct cluster_client_handshakes *self,
                                           uint32_t tag)
{
    return tag - self->first_tag < CLUSTER_HANDSHAKES_LISTENERS;
}

void cluster_client_handshakes_hear(struct cluster_client_handshakes *self, bool hear)
{
    for (unsigned i = 0; i < self->listeners_count; i++)
        if (watch(self, self->listeners[i], EPOLL_CTL_MOD, self->first_tag + i, hear ? POLLIN : 0) <
            0)
            rapahub_clear_error();
}

/* ---- handshakes ---- */

static uint32_t tag_of(const struct cluster_client_handshakes *self,
                       const struct cluster_handshake *shake)
{
    return self->first_tag + CLUSTER_HANDSHAKES_LISTENERS + (uint32_t)(shake - self->all);
}

/* Leaves the entry free. */
static struct cluster_client_arrival take(struct cluster_client_handshakes *self,
                                          struct cluster_handshake *shake)
{
    struct cluster_client_arrival arrival = {.fd = shake->fd, .tls = shake->tls};

    memcpy(arrival.from, shake->from, sizeof arrival.from);
    (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, shake->fd, NULL);
    *shake = (struct cluster_handshake){.fd = -1};
    return arrival;
}

static void end(struct cluster_client_arrival *arrival)
{
    cluster_tls_release(&arrival->tls);
    cluster_tcp_close(&arrival->fd);
}

/* Returns a free entry, or the oldest one. */
static struct cluster_handshake *choose(struct cluster_client_handshakes *self)
{
    struct cluster_handshake *oldest = self->all;

    for (unsigned i = 0; i < CLUSTER_HANDSHAKES_MAX; i++) {
        struct cluster_handshake *shake = &self->all[i];

        if (!shake->tls)
            return shake;
        if (shake->deadline_ns < oldest->deadline_ns)
            oldest = shake;
    }
    return oldest;
}

/* The socket is the entry's from here on, also after a failure. */
static int begin(struct cluster_client_handshakes *self, struct cluster_handshake *shake, int fd)
{
    const struct cluster_tls_options options = {.side = CLUSTER_TLS_SERVER,
                                                .anonymous = self->anonymous,
                                                .deadline_ns =
                                                    hub_clock_after(CLUSTER_TLS_HANDSHAKE_NS),
                                                .hooks = self->hooks,
                                                .user = self->user};
    int r;

    shake->fd = fd;
    shake->deadline_ns = options.deadline_ns;
    shake->interest = POLLIN;
    r = cluster_tls_create(self->context, fd, &options, &shake->tls);
    return r < 0 ? r : watch(self, fd, EPOLL_CTL_ADD, tag_of(self, shake), POLLIN);
}

/* r[impl cluster.link.handshake] */
int cluster_client_handshakes_accept(struct cluster_client_handshakes *self, uint32_t tag)
{
    struct cluster_host_port_address from;
    struct cluster_client_arrival dropped = {.fd = -1};
    struct cluster_handshake *shake;
    int fd, r = cluster_tcp_accept(self->listeners[tag - self->first_tag], &fd, &from);

    if (r <= 0)
        return r;
    shake = choose(self);
    if (shake->tls) {
        dropped = take(self, shake);
        end(&dropped);
    }
    cluster_host_port_print(&from, shake->from);
    r = begin(self, shake, fd);
    if (r < 0) {
        struct cluster_client_arrival failed = take(self, shake);

        end(&failed);
        return RAPAHUB_EBUSY;
    }
    return dropped.from[0] ? rapahub_fail(RAPAHUB_EBUSY, "cluster.link.handshake",
                                          "%s: %d others are before the end of their handshakes",
                                          dropped.from, CLUSTER_HANDSHAKES_MAX)
                           : 1;
}

static int go_on(struct cluster_client_handshakes *self, struct cluster_handshake *shake)
{
    int r = cluster_tls_handshake(shake->tls);
    short events = cluster_tls_events(shake->tls);

    if (r != 0 || events == shake->interest)
        return r;
    shake->interest = events;
    return watch(self, shake->fd, EPOLL_CTL_MOD, tag_of(self, shake), events);
}

int cluster_client_handshakes_step(struct cluster_client_handshakes *self, uint32_t tag,
                                   struct cluster_client_arrival *out)
{
    struct cluster_handshake *shake =
        &self->all[tag - self->first_tag - CLUSTER_HANDSHAKES_LISTENERS];
    int r;

    if (!shake->tls)
        return 0; /* an event of one that was dropped in this turn */
    r = go_on(self, shake);
    if (r == 0)
        return 0;
    *out = take(self, shake);
    if (r < 0) {
        const struct rapahub_diagnosis *failure = rapahub_last_error();
        char why[300];

        snprintf(why, sizeof why, "%s", failure->text);
        rapahub_fail(r, failure->rule, "%s: %s", out->from, why);
        if (!cluster_tls_can_speak(out->tls))
            cluster_tls_release(&out->tls);
    }
    return r;
}

uint32_t cluster_client_handshakes_late(const struct cluster_client_handshakes *self,
                                        uint64_t now_ns)
{
    for (unsigned i = 0; i < CLUSTER_HANDSHAKES_MAX; i++)
        if (self->all[i].tls && self->all[i].deadline_ns <= now_ns)
            return tag_of(self, &self->all[i]);
    return 0;
}

uint64_t cluster_client_handshakes_due(const struct cluster_client_handshakes *self)
{
    uint64_t due = HUB_NEVER;

    for (unsigned i = 0; i < CLUSTER_HANDSHAKES_MAX; i++)
        if (self->all[i].tls && self->all[i].deadline_ns < due)
            due = self->all[i].deadline_ns;
    return due;
}

void cluster_client_handshakes_close(struct cluster_client_handshakes *self)
{
    for (unsigned i = 0; i < CLUSTER_HANDSHAKES_MAX; i++) {
        struct cluster_client_arrival arrival;

        if (!self->all[i].tls)
            continue;
        arrival = take(self, &self->all[i]);
        end(&arrival);
    }
    while (self->listeners_count > 0)
        hub_fd_release(&self->listeners[--self->listeners_count]);
    cluster_tls_context_release(&self->context);
}
