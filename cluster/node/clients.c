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

#include "cluster/node/client_ends.h"
#include "cluster/node/client_frames.h"
#include "cluster/node/client_shared.h"
#include "host/socket/listener.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define BODY_MAX (((size_t)64 << 20) + 65536)
#define HELLO_NS (5 * HUB_SECOND) /* how long a client may take to say who it is */
#define DEAF_NS \
    (100 * HUB_MILLISECOND) /* for so long no client is accepted where there is no descriptor */
#define ACCEPTS   16        /* clients that are accepted in a turn */
#define EVENTS    64
#define TURNS_MAX 8 /* dispatches of a client whose frames were left */

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
    return r < 0 ? r : watch(clients, clients->timer, CLUSTER_CLIENTS_TIMER);
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
        r = cluster_origins_create(&clients->users, &clients->origins);
    if (r == 0)
        r = open_fds(clients);
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
    cluster_origins_release(&gone->origins);
    if (gone->path[0])
        (void)unlink(gone->path);
    hub_fd_release(&gone->timer);
    hub_fd_release(&gone->epoll);
    if (gone->closer)
        hub_closer_give(gone->closer, &gone->listener);
    hub_closer_release(&gone->closer);
    free(gone);
}

int cluster_clients_fd(const struct cluster_clients *clients)
{
    return clients->epoll;
}

/* ---- clients come ---- */

static struct cluster_client *find_free(struct cluster_clients *clients)
{
    struct cluster_client *client = clients->all;

    while (client->state != CLUSTER_CLIENT_FREE)
        client++; /* the users are counted before */
    return client;
}

/* The socket belongs to the connection from here on, whatever happens. */
static int connect_client(struct cluster_client *client, int fd)
{
    struct cluster_clients *clients = client->clients;
    const struct cluster_connection_options options = {.body_max = clients->options.body_max,
                                                       .budget = client->user->budget,
                                                       .closer = clients->closer};
    int r = cluster_connection_create(fd, &options, &cluster_client_frames_hooks, client,
                                      &client->connection);

    if (r < 0)
        return r;
    client->hello_ns = hub_clock_after(HELLO_NS);
    client->interest = EPOLLIN;
    hub_states_move(&cluster_client_links_states, &client->state, CLUSTER_CLIENT_NEW, "client",
                    "accepted");
    if (watch(clients, fd, (uint32_t)(client - clients->all)) < 0)
        cluster_client_links_doom(client, rapahub_last_error()->text);
    return 0;
}

static void admit(struct cluster_clients *clients, int fd, const struct host_role_peer *peer,
                  struct cluster_client_user *user)
{
    struct cluster_client *client = find_free(clients);

    client->peer = *peer;
    client->user = user;
    if (connect_client(client, fd) == 0)
        return;
    cluster_client_users_disconnect(&clients->users, user, peer->role == RAPAHUB_CONTROL_ADMIN);
    *client = (struct cluster_client){.clients = clients};
}

/* A client that is refused is told why, if its socket takes that at once. */
static void turn_away(struct cluster_clients *clients, int fd, int code)
{
    const char *text = rapahub_last_error()->text;
    const struct cluster_body body = {.close = {code, {text, strlen(text)}}};
    const struct cluster_connection_options options = {.closer = clients->closer};
    struct cluster_connection *connection = NULL;

    cluster_client_links_note_refused(clients);
    if (cluster_connection_create(fd, &options, &cluster_client_frames_hooks, NULL, &connection) <
        0)
        return;
    if (cluster_connection_put(connection, &(struct cluster_frame){.type = CLUSTER_FRAME_CLOSE},
                               &body) == 0)
        (void)cluster_connection_flush(connection);
    cluster_connection_release(&connection);
}

/* r[impl cluster.client.role] */
static void take_client(struct cluster_clients *clients, int fd)
{
    struct cluster_client_user *user = NULL;
    struct host_role_peer peer;
    int r = host_role_judge(fd, &clients->group, &peer);

    if (r == 0)
        r = cluster_client_users_connect(&clients->users, peer.uid,
                                         peer.role == RAPAHUB_CONTROL_ADMIN, &user);
    if (r < 0)
        turn_away(clients, fd, r);
    else
        admit(clients, fd, &peer, user);
}

static bool is_shortage(int code)
{
    return code == RAPAHUB_EMFILE || code == RAPAHUB_ENFILE || code == RAPAHUB_ENOMEM ||
           code == -ENOBUFS;
}

static void set_deaf(struct cluster_clients *clients, bool deaf)
{
    struct epoll_event event = {.events = deaf ? 0 : EPOLLIN, .data.u32 = CLUSTER_CLIENTS_LISTENER};

    clients->deaf = deaf;
    clients->deaf_ns = hub_clock_after(DEAF_NS);
    (void)epoll_ctl(clients->epoll, EPOLL_CTL_MOD, clients->listener, &event);
}

/* Where there are no descriptors the clients wait in the listener's queue. */
static int accept_clients(struct cluster_clients *clients)
{
    int r = 1;

    for (unsigned i = 0; i < ACCEPTS && r > 0; i++) {
        int fd;

        r = host_listener_accept(clients->listener, &fd);
        if (r > 0)
            take_client(clients, fd);
    }
    if (r >= 0 || !is_shortage(r))
        return r < 0 ? r : 0;
    cluster_client_links_note_refused(clients);
    set_deaf(clients, true);
    return 0;
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
    cluster_client_links_flush(client);
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
    if (clients->deaf && now_ns >= clients->deaf_ns)
        set_deaf(clients, false);
    for (uint32_t i = 0; i < CLUSTER_CLIENTS_MAX; i++) {
        struct cluster_client *client = &clients->all[i];

        end_silent(client, now_ns);
        if (client->state == CLUSTER_CLIENT_SERVED &&
            cluster_connection_due(client->connection) <= now_ns)
            serve(client);
    }
    while ((origin = cluster_origins_expired(clients->origins, now_ns)))
        cluster_client_ends_origin(clients, origin);
}

int cluster_clients_dispatch(struct cluster_clients *clients)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(clients->epoll, events, EVENTS, 0), r = 0;

    if (n < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait for clients");
    for (int i = 0; i < n; i++) {
        uint32_t tag = events[i].data.u32;

        if (tag == CLUSTER_CLIENTS_LISTENER)
            r = accept_clients(clients);
        else if (tag == CLUSTER_CLIENTS_TIMER)
            do_due(clients);
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
    if (r < 0) {
        cluster_client_links_fail(from);
        settle(from);
    }
    return r;
}

void cluster_clients_give_up(struct cluster_clients *clients, uint64_t request)
{
    struct cluster_origin_call *call = cluster_origins_find_request(clients->origins, request);

    if (call)
        cluster_origins_unbind(clients->origins, call);
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
                                            .refused = clients->refused};
}

const struct cluster_client_counts *cluster_clients_counts(const struct cluster_clients *clients)
{
    return &clients->counts;
}

void cluster_clients_broken(const struct cluster_clients *clients,
                            void (*visit)(void *user, const char *rule, uint64_t times), void *user)
{
    for (uint32_t i = 0; i < clients->broken_count; i++)
        visit(user, clients->broken[i].rule, clients->broken[i].times);
}
