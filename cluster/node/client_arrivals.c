/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_arrivals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <rapahub/error.h>

#include "cluster/identity/uri.h"
#include "cluster/link/tcp.h"
#include "cluster/node/client_frames.h"
#include "cluster/node/peers/peer_links.h"
#include "host/socket/listener.h"
#include "hub/base/clock.h"

#define HELLO_NS (5 * HUB_SECOND) /* how long a client may take to say who it is */
#define DEAF_NS \
    (100 * HUB_MILLISECOND) /* for so long no client is accepted where there is no descriptor */
#define ACCEPTS 16          /* clients that are accepted in a turn */

/* A program that has connected, and who it is. */
struct arrival {
    int fd;
    struct cluster_tls *tls; /* NULL: it came by the Unix socket */
    struct cluster_client_user_id id;
    enum rapahub_control_role role;
};

static struct cluster_connection_options options_of(struct cluster_clients *clients,
                                                    const struct arrival *arrival)
{
    struct cluster_connection_options options = {
        .body_max = clients->options.body_max, .closer = clients->closer, .streams = true};

    if (arrival->tls) {
        options.ping_ns = CLUSTER_TLS_PING_NS;
        options.silent_ns = CLUSTER_TLS_SILENT_NS;
        options.transport = &cluster_tls_table;
        options.session = arrival->tls;
    }
    return options;
}

/* ---- taken ---- */

static struct cluster_client *find_free(struct cluster_clients *clients)
{
    struct cluster_client *client = clients->all;

    while (client->state != CLUSTER_CLIENT_FREE)
        client++; /* the users are counted before */
    return client;
}

static int watch(struct cluster_client *client, int fd)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u32 = (uint32_t)(client - client->clients->all)};

    client->interest = EPOLLIN;
    return epoll_ctl(client->clients->epoll, EPOLL_CTL_ADD, fd, &event) < 0
               ? rapahub_fail(-errno, "", "cannot watch a socket")
               : 0;
}

/* The socket belongs to the connection from here on, whatever happens. */
static int connect_client(struct cluster_client *client, const struct arrival *arrival)
{
    struct cluster_connection_options options = options_of(client->clients, arrival);
    int r;

    options.budget = client->user->budget;
    r = cluster_connection_create(arrival->fd, &options, &cluster_client_frames_hooks, client,
                                  &client->connection);
    if (r < 0)
        return r;
    client->hello_ns = hub_clock_after(HELLO_NS);
    cluster_streams_init(&client->streams);
    hub_states_move(&cluster_client_links_states, &client->state, CLUSTER_CLIENT_NEW, "client",
                    "accepted");
    if (watch(client, arrival->fd) < 0)
        cluster_client_links_doom(client, rapahub_last_error()->text);
    return 0;
}

static void admit(struct cluster_clients *clients, const struct arrival *arrival,
                  struct cluster_client_user *user)
{
    struct cluster_client *client = find_free(clients);

    client->who = arrival->id;
    client->tls = arrival->tls;
    client->role = arrival->role;
    client->user = user;
    if (connect_client(client, arrival) < 0) {
        cluster_client_users_disconnect(&clients->users, user,
                                        arrival->role == RAPAHUB_CONTROL_ADMIN);
        *client = (struct cluster_client){.clients = clients};
        return;
    }
    clients->counts.connections++;
    clients->counts.remote += arrival->tls ? 1 : 0;
}

/* A client that is refused is told why, if its socket takes that at once. */
static void turn_away(struct cluster_clients *clients, const struct arrival *arrival, int code)
{
    char text[300];
    struct cluster_body body = {.close = {code, {text, 0}}};
    const struct cluster_connection_options options = options_of(clients, arrival);
    struct cluster_connection *connection = NULL;

    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    body.close.text.size = strlen(text);
    cluster_client_links_note_refused(clients);
    if (cluster_connection_create(arrival->fd, &options, &cluster_client_frames_hooks, NULL,
                                  &connection) < 0)
        return;
    if (cluster_connection_put(connection, &(struct cluster_frame){.type = CLUSTER_FRAME_CLOSE},
                               &body) == 0)
        (void)cluster_connection_flush(connection);
    cluster_connection_release(&connection);
}

/* r[impl cluster.client.role] */
static void take(struct cluster_clients *clients, const struct arrival *arrival, int judged)
{
    struct cluster_client_user *user = NULL;
    int r = judged;

    if (r == 0)
        r = cluster_client_users_connect(&clients->users, &arrival->id,
                                         arrival->role == RAPAHUB_CONTROL_ADMIN, &user);
    if (r < 0)
        turn_away(clients, arrival, r);
    else
        admit(clients, arrival, user);
}

/* ---- by the Unix socket ---- */

static void take_local(struct cluster_clients *clients, int fd)
{
    struct host_role_peer peer = {.uid = (uid_t)-1};
    int r = host_role_judge(fd, &clients->group, &peer);
    const struct arrival arrival = {.fd = fd, .id = {.uid = peer.uid}, .role = peer.role};

    take(clients, &arrival, r);
}

static int accept_local(struct cluster_clients *clients)
{
    int fd, r = host_listener_accept(clients->listener, &fd);

    if (r > 0)
        take_local(clients, fd);
    return r;
}

/* ---- over the network ---- */

/* r[impl cluster.client.network] */
static int judge(const struct cluster_peer_name *name, struct arrival *out)
{
    static const char before[] = "/client/";
    char uri[CLUSTER_URI_SIZE_MAX];

    if (name->kind != CLUSTER_PEER_CLIENT)
        return rapahub_fail(RAPAHUB_EACCES, "cluster.client.network",
                            "node %u is no client, and this node takes no other nodes",
                            (unsigned)name->node);
    out->id.uid = (uid_t)-1;
    if (cluster_uri_print(name, uri) < 0)
        return RAPAHUB_EACCES;
    snprintf(out->id.name, sizeof out->id.name, "%s", strstr(uri, before) + strlen(before));
    out->role = (enum rapahub_control_role)name->role;
    return 0;
}

/* It cannot be told anything, and is closed. */
static void drop(struct cluster_clients *clients, struct cluster_client_arrival *came)
{
    cluster_client_links_note_refused(clients);
    cluster_tcp_close(&came->fd);
}

static void go_on(struct cluster_clients *clients, uint32_t tag)
{
    struct cluster_client_arrival came;
    struct arrival arrival;
    int r = cluster_client_handshakes_step(&clients->handshakes, tag, &came);

    if (r == 0)
        return;
    if (!came.tls) {
        drop(clients, &came);
        return;
    }
    if (r > 0 && cluster_tls_is_anonymous(came.tls)) {
        cluster_joiners_take(&clients->joiners, came.fd, came.tls, came.from);
        return;
    }
    if (r > 0 && clients->options.peers && cluster_tls_peer(came.tls)->kind == CLUSTER_PEER_NODE) {
        cluster_peer_links_take(clients->options.peers, came.fd, came.tls, came.from);
        return;
    }
    arrival = (struct arrival){.fd = came.fd, .tls = came.tls};
    if (r > 0)
        r = judge(cluster_tls_peer(came.tls), &arrival);
    take(clients, &arrival, r);
}

static int accept_remote(struct cluster_clients *clients, uint32_t tag)
{
    int r = cluster_client_handshakes_accept(&clients->handshakes, tag);

    if (r < 0 && r != RAPAHUB_EBUSY)
        return rapahub_fail(r, "", "cannot accept a client from the network");
    if (r < 0)
        cluster_client_links_note_refused(clients);
    return r < 0 ? 1 : r;
}

/* ---- both ---- */

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
    cluster_client_handshakes_hear(&clients->handshakes, !deaf);
}

/* Where there are no descriptors the clients wait in the listener's queue. A failure of the network
 * ends nothing else. */
static int accept_clients(struct cluster_clients *clients, uint32_t tag)
{
    int r = 1;

    for (unsigned i = 0; i < ACCEPTS && r > 0; i++)
        r = tag == CLUSTER_CLIENTS_LISTENER ? accept_local(clients) : accept_remote(clients, tag);
    if (r >= 0)
        return 0;
    if (tag == CLUSTER_CLIENTS_LISTENER && !is_shortage(r))
        return r;
    cluster_client_links_note_refused(clients);
    set_deaf(clients, true);
    return 0;
}

int cluster_client_arrivals_take(struct cluster_clients *clients, uint32_t tag)
{
    if (tag == CLUSTER_CLIENTS_LISTENER ||
        cluster_client_handshakes_is_listener(&clients->handshakes, tag))
        return accept_clients(clients, tag);
    if (tag >= CLUSTER_CLIENTS_JOINERS)
        cluster_joiners_serve(&clients->joiners, tag);
    else
        go_on(clients, tag);
    return 0;
}

void cluster_client_arrivals_do_due(struct cluster_clients *clients, uint64_t now_ns)
{
    uint32_t tag;

    if (clients->deaf && now_ns >= clients->deaf_ns)
        set_deaf(clients, false);
    while ((tag = cluster_client_handshakes_late(&clients->handshakes, now_ns)) != 0)
        go_on(clients, tag);
    cluster_joiners_do_due(&clients->joiners, now_ns);
}
