/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/node/client_arrivals.h"
#include "cluster/node/client_ends.h"
#include "cluster/node/client_frames.h"
#include "cluster/node/client_shared.h"
#include "host/socket/listener.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define BODY_MAX  (((size_t)64 << 20) + 65536)
#define EVENTS    64
#define TURNS_MAX 8   /* dispatches of a client whose frames were left */
#define STREAMS   512 /* in calls of all clients */

/* ---- opened and closed ---- */

static int watch(struct cluster_clients *clients, int fd, uint32_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = tag};

    if (epoll_ctl(clients->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return rapahub_fail(-errno, "", "cannot watch a socket");
    return 0;
}

static int open_fds(struct cluster_clients *clients)
{
    int r;

    clients->epoll = epoll_create1(EPOLL_CLOEXEC);
    clients->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (clients->epoll < 0 || clients->timer < 0)
        return rapahub_fail(-errno, "", "cannot make the descriptors for clients");
    r = host_listener_open(clients->options.path, clients->group.set ? &clients->group.gid : NULL,
                           &clients->listener);
    if (r < 0)
        return r;
    snprintf(clients->path, sizeof clients->path, "%s", clients->options.path);
    r = watch(clients, clients->listener, CLUSTER_CLIENTS_LISTENER);
    if (r == 0)
        r = watch(clients, clients->timer, CLUSTER_CLIENTS_TIMER);
    return r < 0 ? r : watch(clients, cluster_bell_fd(clients->bell), CLUSTER_CLIENTS_BELL);
}

static bool is_revoked(void *user, const uint8_t *serial, size_t size)
{
    const struct cluster_clients_options *options = &((struct cluster_clients *)user)->options;

    return options->hooks->is_revoked && options->hooks->is_revoked(options->user, serial, size);
}

static const struct cluster_tls_hooks tls_hooks = {is_revoked};

static int on_join(void *user, uint64_t number, const struct cluster_body_join *join)
{
    const struct cluster_clients_options *options = &((struct cluster_clients *)user)->options;

    return options->hooks->join(options->user, number, join);
}

static void on_refused(void *user)
{
    cluster_client_links_note_refused(user);
}

static const struct cluster_joiners_hooks joiners_hooks = {on_join, on_refused};

static int open_network(struct cluster_clients *clients)
{
    const struct cluster_clients_options *options = &clients->options;
    struct cluster_peer_name node = {.kind = CLUSTER_PEER_NODE, .node = options->node};

    cluster_client_handshakes_init(&clients->handshakes, clients->epoll, CLUSTER_CLIENTS_NETWORK,
                                   &tls_hooks, clients);
    clients->handshakes.anonymous = options->hooks->join != NULL;
    cluster_joiners_init(&clients->joiners, clients->epoll, CLUSTER_CLIENTS_JOINERS, &joiners_hooks,
                         clients);
    clients->joiners.closer = clients->closer;
    if (!options->listen)
        return 0;
    memcpy(node.uuid, clients->cluster, sizeof node.uuid);
    return cluster_client_handshakes_open(&clients->handshakes, options->listen, options->tls,
                                          &node);
}

/* For people, who may have asked for a port that is free. */
static void note_addresses(struct cluster_clients *clients)
{
    const struct cluster_client_handshakes *handshakes = &clients->handshakes;
    struct cluster_client_counts *counts = &clients->counts;

    while (counts->addresses_count < handshakes->listeners_count) {
        cluster_host_port_print(&handshakes->addresses[counts->addresses_count],
                                counts->addresses[counts->addresses_count]);
        counts->addresses_count++;
    }
}

static void init(struct cluster_clients *clients, const struct cluster_clients_options *options)
{
    clients->options = *options;
    if (options->body_max == 0)
        clients->options.body_max = BODY_MAX;
    memcpy(clients->cluster, options->cluster, sizeof clients->cluster);
    clients->epoll = clients->listener = clients->timer = -1;
    clients->armed_ns = HUB_NEVER;
    cluster_client_users_init(&clients->users);
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++)
        clients->all[i].clients = clients;
}

int cluster_clients_open(const struct cluster_clients_options *options,
                         struct cluster_clients **out)
{
    OWN(cluster_clients) struct cluster_clients *clients = calloc(1, sizeof *clients);
    int r = 0;

    if (!clients)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for clients");
    init(clients, options);
    if (options->group) {
        clients->group = (struct host_role_group){.set = true, .role = options->group_role};
        r = host_role_find_group(options->group, &clients->group.gid);
    }
    if (r == 0)
        r = hub_closer_create(&clients->closer);
    if (r == 0)
        r = cluster_bell_create(STREAMS, &clients->bell);
    if (r == 0)
        r = cluster_origins_create(&clients->users, &clients->origins);
    if (r == 0)
        r = open_fds(clients);
    if (r == 0)
        r = open_network(clients);
    note_addresses(clients);
    if (r == 0)
        *out = TAKE(clients);
    return r;
}

void cluster_clients_release(struct cluster_clients **clients)
{
    struct cluster_clients *gone = *clients;

    *clients = NULL;
    if (!gone)
        return;
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++)
        if (gone->all[i].state != CLUSTER_CLIENT_FREE)
            cluster_client_links_close(&gone->all[i]);
    cluster_joiners_close(&gone->joiners);
    cluster_client_handshakes_close(&gone->handshakes);
    cluster_origins_release(&gone->origins);
    if (gone->path[0])
        (void)unlink(gone->path);
    hub_fd_release(&gone->timer);
    hub_fd_release(&gone->epoll);
    if (gone->closer)
        hub_closer_give(gone->closer, &gone->listener);
    hub_closer_release(&gone->closer);
    cluster_bell_drop(&gone->bell);
    free(gone);
}

int cluster_clients_fd(const struct cluster_clients *clients)
{
    return clients->epoll;
}

/* ---- turns ---- */

static void serve(struct cluster_client *client)
{
    unsigned turns = 0;
    uint64_t now_ns = hub_clock_now();

    do {
        if (client->state == CLUSTER_CLIENT_DOOMED || client->state == CLUSTER_CLIENT_FREE)
            return;
        if (cluster_connection_dispatch(client->connection, now_ns) < 0) {
            cluster_client_links_fail(client);
            return;
        }
    } while (cluster_connection_due(client->connection) == 0 && ++turns < TURNS_MAX);
    cluster_client_links_send_streams(client);
}

/* Something is to be done for streams of some of them. */
static void serve_streams(struct cluster_clients *clients)
{
    cluster_bell_hear(clients->bell);
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++)
        if (clients->all[i].streams.count > 0)
            cluster_client_links_send_streams(&clients->all[i]);
}

/* r[impl cluster.stream.patience] */
static void end_stuck(struct cluster_client *client, uint64_t now_ns)
{
    struct cluster_clients *clients = client->clients;
    struct cluster_call_streams *streams;

    while (client->state == CLUSTER_CLIENT_SERVED &&
           (streams = cluster_streams_stuck(&client->streams, now_ns))) {
        struct cluster_origin_call *call =
            cluster_origins_find(clients->origins, client->origin, streams->call);
        uint64_t own;

        cluster_streams_remove(&client->streams, streams);
        if (!call || call->state != CLUSTER_ORIGIN_RUNNING)
            continue;
        own = call->own;
        rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.stream.patience",
                     "nothing was read or written of the streams of the call for so long");
        cluster_client_ends_fail(clients, call, RAPAHUB_ETIMEDOUT);
        /* After its end: a cancel may end the call at once. */
        clients->options.hooks->cancel(clients->options.user, own);
        cluster_client_links_flush(client);
    }
}

/* r[impl cluster.client.hello] */
static void end_silent(struct cluster_client *client, uint64_t now_ns)
{
    if (client->state != CLUSTER_CLIENT_NEW || now_ns < client->hello_ns)
        return;
    rapahub_fail(RAPAHUB_ETIMEDOUT, "cluster.client.hello", "it has not said who it is");
    cluster_client_links_fail(client);
}

static void do_due(struct cluster_clients *clients)
{
    uint64_t now_ns = hub_clock_now(), expirations;
    struct cluster_origin *origin;

    (void)!read(clients->timer, &expirations, sizeof expirations);
    clients->armed_ns = HUB_NEVER;
    cluster_client_arrivals_do_due(clients, now_ns);
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++) {
        struct cluster_client *client = &clients->all[i];

        end_silent(client, now_ns);
        end_stuck(client, now_ns);
        if ((client->state == CLUSTER_CLIENT_NEW || client->state == CLUSTER_CLIENT_SERVED) &&
            cluster_connection_due(client->connection) <= now_ns)
            serve(client);
    }
    while ((origin = cluster_origins_expired(clients->origins, now_ns)))
        cluster_client_ends_origin(clients, origin);
}

/* r[impl cluster.link.revoked] */
void cluster_clients_look_at_certificates(struct cluster_clients *clients)
{
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++) {
        struct cluster_client *client = &clients->all[i];

        if (!client->tls || client->state == CLUSTER_CLIENT_FREE ||
            client->state == CLUSTER_CLIENT_DOOMED || !cluster_tls_is_revoked(client->tls))
            continue;
        rapahub_fail(RAPAHUB_EACCES, "cluster.link.certificate", "its certificate was revoked");
        cluster_client_links_refuse(client, RAPAHUB_EACCES);
    }
    cluster_client_handshakes_renew(&clients->handshakes);
    cluster_client_links_close_doomed(clients);
    cluster_client_links_arm(clients);
}

int cluster_clients_dispatch(struct cluster_clients *clients)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(clients->epoll, events, EVENTS, 0), r = 0;

    if (n < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait for clients");
    for (int i = 0; i < n; i++) {
        uint32_t tag = events[i].data.u32;

        if (tag == CLUSTER_CLIENTS_LISTENER || tag >= CLUSTER_CLIENTS_NETWORK)
            r = cluster_client_arrivals_take(clients, tag);
        else if (tag == CLUSTER_CLIENTS_TIMER)
            do_due(clients);
        else if (tag == CLUSTER_CLIENTS_BELL)
            serve_streams(clients);
        else
            serve(&clients->all[tag]);
    }
    cluster_client_links_close_doomed(clients);
    cluster_client_links_arm(clients);
    return r;
}

/* ---- ends ---- */

/* Outside of a turn the socket is served at once, or a turn is due for that. */
static void settle(struct cluster_client *client)
{
    cluster_client_links_flush(client);
    if (client->state == CLUSTER_CLIENT_DOOMED || cluster_connection_due(client->connection) == 0)
        cluster_client_links_arm(client->clients);
}

static bool end(struct cluster_clients *clients, uint64_t number, uint8_t type,
                const struct cluster_clients_answer *answer)
{
    struct cluster_origin_call *call = cluster_origins_find_own(clients->origins, number);
    struct cluster_client *client;

    if (!call || call->state != CLUSTER_ORIGIN_RUNNING)
        return false;
    client = call->origin->client;
    cluster_client_ends_tell(clients, call, type, answer);
    if (client)
        settle(client);
    return true;
}

int cluster_clients_request(struct cluster_clients *clients, uint32_t client, uint64_t request,
                            struct rapahub_bytes bytes)
{
    struct cluster_client *from = &clients->all[client];
    int r;

    if (from->state != CLUSTER_CLIENT_SERVED || !from->shares)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.shared.request", "its client has gone");
    r = cluster_client_shared_take(from, request, bytes);
    if (r < 0)
        cluster_client_links_fail(from);
    if (from->state == CLUSTER_CLIENT_DOOMED) /* also where its call could not be kept */
        settle(from);
    return r;
}

void cluster_clients_give_up(struct cluster_clients *clients, uint64_t request)
{
    struct cluster_origin_call *call = cluster_origins_find_request(clients->origins, request);

    if (call)
        cluster_origins_unbind(clients->origins, call);
}

void cluster_clients_joined(struct cluster_clients *clients, uint64_t number,
                            const struct cluster_body_join_ok *ok)
{
    cluster_joiners_answer(&clients->joiners, number, ok);
    cluster_client_links_arm(clients);
}

bool cluster_clients_each(struct cluster_clients *clients, uint64_t number,
                          const struct cluster_clients_answer *answer)
{
    return end(clients, number, CLUSTER_FRAME_EACH, answer);
}

bool cluster_clients_answer(struct cluster_clients *clients, uint64_t number,
                            const struct cluster_clients_answer *answer)
{
    return end(clients, number, CLUSTER_FRAME_RESULT, answer);
}

struct cluster_clients_figures cluster_clients_figures(const struct cluster_clients *clients)
{
    struct cluster_origins_count count = cluster_origins_count(clients->origins);

    return (struct cluster_clients_figures){.connections = clients->users.connections,
                                            .origins = count.origins,
                                            .calls = count.calls,
                                            .kept_bytes = count.kept,
                                            .refused = clients->counts.refused};
}

const struct cluster_client_counts *cluster_clients_counts(const struct cluster_clients *clients)
{
    return &clients->counts;
}
