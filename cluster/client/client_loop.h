/* SPDX-License-Identifier: Apache-2.0 */
/* client_loop: the turns of a client. They have the connection to the node, send calls, take their
 * ends, and look for the node when that is away. The thread of the client takes them, but while a
 * thread waits for its call, and no call is open that has a callback, that thread may take them.
 */
#ifndef CLUSTER_CLIENT_CLIENT_LOOP_H
#define CLUSTER_CLIENT_CLIENT_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rapahub/client.h>

#include "cluster/client/client_calls.h"
#include "cluster/client/client_lead.h"
#include "cluster/client/reconnect.h"
#include "cluster/client/transport/node_list.h"
#include "cluster/client/transport/tls_transport.h"
#include "cluster/link/connection.h"

#define CLUSTER_CLIENT_BODY_MAX ((size_t)64 << 20)
#define CLUSTER_CLIENT_ACKS     64
#define CLUSTER_CLIENT_WHY      512

/* How far the first connection is. */
enum { CLUSTER_CLIENT_OPENING, CLUSTER_CLIENT_OPENED, CLUSTER_CLIENT_REFUSED };

struct cluster_client_loop {
    struct cluster_client_calls calls;
    struct cluster_node_list nodes;
    struct cluster_tls_transport tls;
    struct hub_closer *closer;
    enum rapahub_client_transport wanted;
    uint64_t retry_ns;
    uint64_t origin;
    pthread_t thread;
    int wake; /* an eventfd */
    struct cluster_client_lead lead;
    struct hub_a32 opened;
    struct hub_a32 shares; /* 1: calls go by shared memory */
    struct hub_mutex lock; /* guards the next two */
    int why_code;          /* why there is no connection */
    char why[CLUSTER_CLIENT_WHY];
    /* the leader alone */
    uint64_t looked_ns;                       /* when it was last known what the connection says */
    struct cluster_connection *connection;    /* NULL: none */
    const struct cluster_node_list_entry *at; /* the node of it; NULL: one of the default places */
    int pidfd;                                /* the node's process; or -1 */
    bool helloed;                             /* the node has answered */
    bool refused;                             /* it has said why not, and will next time, too */
    uint64_t asked_ns;                        /* when the connection was made */
    struct cluster_reconnect reconnect;
    bool knows_cluster;
    uint8_t cluster[CLUSTER_BODY_UUID];
    uint64_t session;
    bool asks;         /* the node was asked for a segment, and has not answered */
    uint64_t share_ns; /* it is asked again then; HUB_NEVER: not on this connection */
    uint32_t acks_count;
    uint64_t acks_ns; /* they are sent then, at the latest */
    struct cluster_frame acks[CLUSTER_CLIENT_ACKS];
};

/* Starts the thread. `nodes`, `tls` and `retry_ns` are set. */
int cluster_client_loop_start(struct cluster_client_loop *loop);

/* Ends the open calls, says goodbye to the node, and ends the thread. */
void cluster_client_loop_stop(struct cluster_client_loop *loop);

/* Waits for the first connection. Returns 0, or why there is none, with the diagnosis. */
int cluster_client_loop_wait(struct cluster_client_loop *loop, uint64_t deadline_ns);

/* Wakes the leader: there is something to do. Any thread. */
void cluster_client_loop_wake(struct cluster_client_loop *loop);

/* Takes the turns itself until the call has ended, which was added and which this thread waits for,
 * or until the thread of the client must. False: there is a leader. */
bool cluster_client_loop_lead(struct cluster_client_loop *loop, struct cluster_client_call *call);

/* Says whether this is the thread. */
bool cluster_client_loop_is_here(const struct cluster_client_loop *loop);

#endif
