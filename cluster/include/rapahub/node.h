/* SPDX-License-Identifier: Apache-2.0 */
/* node: a host becomes a node, which keeps pools of containers running in guests of the host, and
 * takes calls for them. Its data folder has all that it knows: after any end of the program the
 * pools begin anew from there.
 *
 * Calls by rapahub_host_call to a container of a pool, with a query or without, reach it wherever
 * it is; while it begins anew they wait. The container {UINT32_MAX, 16} of the host,
 * `rapahub.node`, has the methods by which people look at a node and give it orders:
 * docs/spec/cluster.md.
 *
 * The host belongs to the thread that calls these functions: it has no `own_thread`. It has no
 * other router, and becomes a node once. Its loop dispatches both, when one of their descriptors is
 * readable. A call that the owner itself waits for takes turns of the host alone: it is answered
 * where its container serves, but a container does not begin meanwhile.
 */
#ifndef RAPAHUB_NODE_H
#define RAPAHUB_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/export.h>
#include <rapahub/host.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_node;

/* Clients of this machine call by shared memory as long as the host has places for them: its option
 * `admitted_max`, of which the node uses so many. Any others call by the socket. */
#define RAPAHUB_NODE_CLIENTS_MAX 64

/* Zero stands for the default that a comment names last. Texts are copied. Values that this library
 * does not know (`reserved`) are refused. */
struct rapahub_node_options {
    const char *data;  /* its folder; made if its parent is there; required */
    const char *name;  /* the node's: its socket is <run>/<name>.node; "node" */
    const char *run;   /* folder of the socket; that of the host's control socket */
    const char *group; /* "GROUP" or "GROUP:ROLE": who may use the socket besides its user; none */
    uint32_t guests_max; /* all guests of its pools; 255 */
    int lock_fd;         /* a lock of the data folder, which a warden has; the node takes it */
    /* A container serves, or not any more: owner. It may call containers. NULL: not told. */
    void (*on_container)(void *user, struct rapahub_container_id id, uint64_t token, bool came);
    void *user;
    /* Where clients may come over the network, by TLS 1.3: "HOST:PORT", HOST in numbers or *, PORT
     * 9413 if it is left out, several with commas. They show a certificate of this cluster, and the
     * node shows its own, DATA/tls/node.pem. None. */
    const char *listen;
    /* How long the metastore, where it is in the data folder, can tell what was overwritten; from 1
     * s to 720 h. An hour. */
    uint64_t metastore_keep_ns;
    /* Readable once the program shall end: rapahub_node_open of a node that has joined a cluster
     * waits for the node with the metastore until that answers, or until then: RAPAHUB_ECANCELED.
     * -1 or 0: none. */
    int stop_fd;
    /* "etcd://HOST:PORT,HOST:PORT/PREFIX", or "etcds://..." by TLS: the metastore is there and not
     * in the data folder, which notes it. A folder that has noted one needs none here; another one
     * is refused, but for other addresses of the same prefix. As the folder says. */
    const char *metastore;
    /* The folder with ca.pem, client.pem and client.key for etcds. `etcd` of the data folder. */
    const char *metastore_tls;
    /* How soon this node finds out that another one does not live: "lan", "fast", "wan" or "seed".
     * It does where `listen` names an address; what it finds is shown, and moves no container.
     * "lan". */
    const char *detection;
    uint64_t reserved[3];
};

/* Opens the data folder, ends what an earlier life of the node has left, and begins to serve: pools
 * begin as the host and the node are dispatched. Waits for the disk, with a deadline. Fails with
 * one diagnosis that names the thing, the place and the remedy. */
RAPAHUB_API_CHECKED int rapahub_node_open(struct rapahub_host *host,
                                          const struct rapahub_node_options *options,
                                          struct rapahub_node **out);

/* A life of a node, for a parent process that tells the death of the program to the cluster. */
struct rapahub_node_life {
    uint32_t node, boot;
    uint64_t session;
    const char *leader; /* HOST:PORT of the node that leads, good until the close; NULL: this one */
};
RAPAHUB_API void rapahub_node_life(const struct rapahub_node *node, struct rapahub_node_life *out);

/* A program polls the descriptor for input, then dispatches. That never waits. A failure: the disk
 * or the metastore has failed, and the node serves no more; the program is to end. */
RAPAHUB_API int rapahub_node_fd(const struct rapahub_node *node);
RAPAHUB_API_CHECKED int rapahub_node_dispatch(struct rapahub_node *node);

/* A program whose host was dispatched while the descriptor of the node was not readable may call
 * this instead. It does what is left of what the callbacks of the host have begun, mostly nothing,
 * and makes no system call for the rest. It does and fails as rapahub_node_dispatch. */
RAPAHUB_API_CHECKED int rapahub_node_settle(struct rapahub_node *node);

/* Says whether the cluster wants the node to leave it: then it is to be stopped in order, and
 * closed; its containers begin on other nodes after that, and its folder is of no use any more.
 * Owner. */
RAPAHUB_API bool rapahub_node_leaves(const struct rapahub_node *node);

/* Begins to stop in order: no new calls run, those that run end, guests end, the session is closed.
 * It goes on in the two functions above; on_done runs there, once, unless this fails. Then it is to
 * be closed. RAPAHUB_ESTATE: it stops already. */
RAPAHUB_API_CHECKED int rapahub_node_stop(struct rapahub_node *node, rapahub_on_done *on_done,
                                          void *user);

/* Leaves the data folder as a crash would, but for what is open: guests are ended with proof, calls
 * end. Waits for that. NULL is allowed. Before rapahub_host_destroy. */
RAPAHUB_API void rapahub_node_close(struct rapahub_node *node);

RAPAHUB_END_DECLS

#endif
