/* SPDX-License-Identifier: Apache-2.0 */
/* clients: programs that call the pools of this node: those of this machine by a Unix socket, those
 * of any other by TLS.
 *
 * A client has an origin for its calls, which lasts over its connections. A call that it sends
 * again finds here the same call, or its end; where it does not, it is handed on once more, and the
 * core knows it by its uid. The end of a call is kept until the client has it. Owner; nothing
 * waits, and all that a client does or leaves undone is bounded.
 */
#ifndef CLUSTER_NODE_CLIENTS_H
#define CLUSTER_NODE_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/control.h>

#include "cluster/node/base/client_counts.h"
#include "cluster/node/client_users.h"
#include "cluster/wire/body.h"
#include "cluster/wire/frame.h"

struct cluster_call_streams;
struct cluster_clients;
struct cluster_peer_links;

/* A call of a client. All of it is good until the hook returns. */
struct cluster_clients_call {
    uint64_t number;                   /* for the answer and the cancel; never used again */
    const struct cluster_frame *frame; /* uid, pool, container (mode DIRECT), attempt */
    const struct cluster_body_call *body;
    /* the containers that it goes to, where that is known: call hook */
    const struct cluster_body_member *members;
    uint32_t members_count;
    uint64_t deadline_ns; /* monotonic */
    enum rapahub_control_role role;
    const struct cluster_client_user_id *who;
    uint64_t peer; /* the same for cluster_send_call: not 0 */
    /* those of the call; NULL: it has none. The call hook holds them until it does not use their
     * ends any more, also after a cancel. */
    struct cluster_call_streams *streams;
};

#define CLUSTER_CLIENTS_MEMBERS_MAX CLUSTER_CONTAINERS_MAX

/* The segment that a client gets. */
struct cluster_clients_segment {
    int descriptors[2]; /* the segment, and the client's end of the doorbell: the receiver's */
    uint32_t peer;
    uint8_t waiting; /* enum rapahub_waiting */
};

/* Upwards, to who made the clients. A constant table. */
struct cluster_clients_hooks {
    /* Says which containers a call goes to, each with its lineage, before it begins: it writes at
     * most CLUSTER_CLIENTS_MEMBERS_MAX members, in the order of the replicas, and returns how many;
     * 0: this call has none, as one to an offer. A failure, with its diagnosis, ends the call. A
     * call that was sent again with its members is not asked for. */
    int (*resolve)(void *user, const struct cluster_clients_call *call,
                   struct cluster_body_member *out);
    /* Begins the call. cluster_clients_answer ends it, also before this returns. A failure, with
     * its diagnosis, ends it at once. Calls to pools of the cluster are those of an operator at
     * least; to an offer any role comes. */
    int (*call)(void *user, const struct cluster_clients_call *call);
    /* The end of the call is not wanted any more. An answer is ignored. */
    void (*cancel)(void *user, uint64_t number);
    /* Nothing comes of this origin any more: see cluster_dedup_end_origin. */
    void (*origin_ended)(void *user, uint64_t origin);
    /* Gives a client, which is connected by this socket, a segment instead of one that it had.
     * RAPAHUB_EFULL and others: there is none for it, and it has none. */
    int (*share)(void *user, uint32_t client, int fd, struct cluster_clients_segment *out);
    /* The client has gone, and what it had with it. */
    void (*unshare)(void *user, uint32_t client);
    /* Answers a request of a client, which cluster_clients_request has taken. */
    void (*respond)(void *user, uint64_t request, uint8_t type, const struct cluster_body *body);
    /* Says whether the certificate with this serial number has been revoked. NULL: none has. */
    bool (*is_revoked)(void *user, const uint8_t *serial, size_t size);
    /* A node that has no certificate yet asks to join; cluster_clients_joined answers it, later. A
     * failure, with its diagnosis, refuses it. NULL: no node can join here. */
    int (*join)(void *user, uint64_t number, const struct cluster_body_join *join);
};

struct cluster_clients_options {
    const char *path;  /* the socket's; its folder is there; required */
    const char *group; /* name or number of a group that may connect; NULL: none */
    enum rapahub_control_role group_role;
    uint32_t node, boot;    /* this node's */
    const uint8_t *cluster; /* uuid, 16 bytes */
    uint64_t session;       /* this node's, told to each client */
    const char *listen; /* HOST:PORT, several with commas: clients may come there; NULL: none may */
    const char *tls;    /* folder with ca.pem, node.pem and node.key; where `listen` is set */
    struct cluster_peer_links *peers; /* take the nodes that come there; NULL: none may come */
    bool shares;     /* clients may ask for shared memory: the last three hooks are there */
    size_t body_max; /* bytes of a call or an answer; 0: 64 MiB + 64 KiB */
    const struct cluster_clients_hooks *hooks;
    void *user;
};

/* Makes the socket as rapahub_control_open does, with the same errors; and listens, with those of
 * cluster_client_handshakes_open. */
int cluster_clients_open(const struct cluster_clients_options *options,
                         struct cluster_clients **out);

/* Ends all connections and removes the socket. Calls that were begun are not cancelled; their
 * answers must not come after this. No origin is told as ended. NULL in it is allowed. */
void cluster_clients_release(struct cluster_clients **clients);

/* Poll it for input, then dispatch. */
int cluster_clients_fd(const struct cluster_clients *clients);

/* Serves the clients. A failure is one of the socket itself; what a client breaks ends only its own
 * connection. */
int cluster_clients_dispatch(struct cluster_clients *clients);

/* A certificate was revoked, or that of the node was renewed: clients whose certificates are good
 * for nothing now are told so and closed, and handshakes show the new one. */
void cluster_clients_look_at_certificates(struct cluster_clients *clients);

/* Takes a request that a client has made by its segment. The hook answers it once, perhaps before
 * this returns, unless this fails: the client has broken a rule, and is dropped. */
int cluster_clients_request(struct cluster_clients *clients, uint32_t client, uint64_t request,
                            struct rapahub_bytes bytes);

/* A request that was not answered has ended: its call goes on, and its end is told when the client
 * asks for it by the socket. */
void cluster_clients_give_up(struct cluster_clients *clients, uint64_t request);

/* Answers one that asked to join; NULL: it is refused, with the diagnosis. */
void cluster_clients_joined(struct cluster_clients *clients, uint64_t number,
                            const struct cluster_body_join_ok *ok);

/* The end of a call, or of one of its containers. */
struct cluster_clients_answer {
    int32_t status;
    int32_t application;          /* the method's own error, with RAPAHUB_EAPPLICATION */
    uint32_t container, replica;  /* for cluster_clients_each: whose end it is, and its place */
    uint64_t lineage;             /* that it ran in; 0: none */
    const char *text;             /* for people, where it failed; NULL: none */
    struct rapahub_bytes payload; /* the result in POSTCARD, if status is 0 */
};

/* Tells the end of a container of a call to several. Copied. False: there is no such call. */
bool cluster_clients_each(struct cluster_clients *clients, uint64_t number,
                          const struct cluster_clients_answer *answer);

/* Ends a call. Copied. False: there is no such call, it was cancelled or answered. */
bool cluster_clients_answer(struct cluster_clients *clients, uint64_t number,
                            const struct cluster_clients_answer *answer);

struct cluster_clients_figures {
    uint32_t connections, origins, calls; /* now; calls: of which the client has not the end */
    uint64_t kept_bytes;                  /* ends that were not acknowledged */
    uint64_t refused;                     /* connections, since the start */
};
struct cluster_clients_figures cluster_clients_figures(const struct cluster_clients *clients);

/* Returns what is counted as long as the clients are open. */
const struct cluster_client_counts *cluster_clients_counts(const struct cluster_clients *clients);

#endif
