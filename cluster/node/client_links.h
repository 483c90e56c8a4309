/* SPDX-License-Identifier: Apache-2.0 */
/* client_links: the connections of the clients of a node, and what is common to all of them. A
 * connection that fails is only marked; it is closed when nothing uses it any more.
 */
#ifndef CLUSTER_NODE_CLIENT_LINKS_H
#define CLUSTER_NODE_CLIENT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/link/connection.h"
#include "cluster/node/base/client_counts.h"
#include "cluster/node/client_handshakes.h"
#include "cluster/node/client_users.h"
#include "cluster/node/clients.h"
#include "cluster/node/join/joiners.h"
#include "cluster/node/origins.h"
#include "cluster/stream/streams.h"
#include "host/socket/role.h"
#include "hub/base/states.h"

#define CLUSTER_CLIENTS_PATH 108

/* The data of an epoll event: the index of a client, or one of these. */
enum {
    CLUSTER_CLIENTS_LISTENER = CLUSTER_CLIENTS_MAX,
    CLUSTER_CLIENTS_TIMER,
    CLUSTER_CLIENTS_BELL,
    CLUSTER_CLIENTS_NETWORK, /* the first of CLUSTER_HANDSHAKES_TAGS */
    CLUSTER_CLIENTS_JOINERS = CLUSTER_CLIENTS_NETWORK + CLUSTER_HANDSHAKES_TAGS /* the first */
};

enum cluster_client_state {
    CLUSTER_CLIENT_FREE,
    CLUSTER_CLIENT_NEW,    /* it has not said who it is */
    CLUSTER_CLIENT_SERVED, /* it has an origin */
    CLUSTER_CLIENT_DOOMED, /* it is closed when this turn ends */
    CLUSTER_CLIENT_STATES
};

extern const struct hub_states cluster_client_links_states;

struct cluster_client {
    struct cluster_clients *clients;
    uint32_t state; /* enum cluster_client_state */
    struct cluster_connection *connection;
    const struct cluster_tls *tls; /* the connection's; NULL: it came by the Unix socket */
    struct cluster_client_user *user;
    struct cluster_client_user_id who;
    enum rapahub_control_role role;
    struct cluster_origin *origin;    /* SERVED */
    struct cluster_origin_call *told; /* the call of which it is told where that goes; or NULL */
    uint64_t hello_ns;                /* NEW: how long it may take */
    bool shares;                      /* it has a segment, or had one that was cut off */
    uint64_t share_ns;                /* before that it gets no segment again */
    uint64_t payload_max;             /* bytes of an answer that it takes there */
    uint32_t interest;                /* in epoll */
    struct cluster_streams streams;   /* that its calls have */
};

struct cluster_clients {
    struct cluster_clients_options options; /* texts are not used any more */
    uint8_t cluster[CLUSTER_BODY_UUID];
    struct host_role_group group;
    int epoll, listener, timer;
    bool deaf;         /* the listener is not watched: there are no descriptors */
    uint64_t deaf_ns;  /* until then */
    uint64_t armed_ns; /* the timer */
    struct hub_closer *closer;
    struct cluster_bell *bell; /* rings for the streams of calls */
    struct cluster_client_users users;
    struct cluster_origins *origins;
    struct cluster_client_handshakes handshakes;
    struct cluster_joiners joiners;
    uint64_t refusal_ns; /* a refusal was last logged */
    struct cluster_client_counts counts;
    char path[CLUSTER_CLIENTS_PATH];
    struct cluster_body_member members[CLUSTER_CLIENTS_MEMBERS_MAX]; /* of the call at hand */
    struct cluster_client all[CLUSTER_CLIENTS_MAX];
};

/* The connection has failed, with the diagnosis: counts the rule, and dooms the client. */
void cluster_client_links_fail(struct cluster_client *client);

/* Notes that a client has a segment, or has none any more. */
void cluster_client_links_share(struct cluster_client *client, bool has);

/* Closes a client at the end of the turn. */
void cluster_client_links_doom(struct cluster_client *client, const char *why);

/* Says why in a CLOSE, as far as the socket takes it, and dooms the client. */
void cluster_client_links_refuse(struct cluster_client *client, int code);

/* The streams of a client are lost with its connection, and its calls that have some are cancelled.
 */
void cluster_client_links_lose_streams(struct cluster_client *client);

/* Sends what there is of the streams of its calls; then as cluster_client_links_flush. */
void cluster_client_links_send_streams(struct cluster_client *client);

/* Writes what waits, and watches the socket for what is needed next. */
void cluster_client_links_flush(struct cluster_client *client);

/* Sets the timer to what is due next. */
void cluster_client_links_arm(struct cluster_clients *clients);

/* Closes the clients that are doomed. Their origins stay. */
void cluster_client_links_close_doomed(struct cluster_clients *clients);

/* Closes a client now. */
void cluster_client_links_close(struct cluster_client *client);

/* Counts a refusal, with the diagnosis, and logs at most one in a second. */
void cluster_client_links_note_refused(struct cluster_clients *clients);

#endif
