/* SPDX-License-Identifier: Apache-2.0 */
/* seat_server: the seat of the metastore: gives other nodes what cluster_metastore gives this one.
 * Each node comes over a link of another room. All that it writes is hostile: it is copied,
 * checked, and counted by the rule that it breaks; a node that breaks one of the messages is hung
 * up.
 *
 * A node may have under way: CLUSTER_TXN_FLIGHT_MAX transactions, CLUSTER_METASTORE_READS_MAX other
 * operations, of CLUSTER_SEAT_REQUEST_MAX bytes in all, and CLUSTER_SEAT_WATCHES_MAX watches. Work
 * is begun for it only while there is room for the answers: so a node that does not read makes the
 * seat keep CLUSTER_SEAT_SERVER_ROOM bytes and one answer, and is hung up after a while.
 *
 * All on the owner of the store, and none waits. No time but that of the step, no random number, no
 * thread, no descriptor. */
#ifndef CLUSTER_METASTORE_SEAT_SERVER_H
#define CLUSTER_METASTORE_SEAT_SERVER_H

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/seat/seat_link.h"
#include "cluster/metastore/seat/seat_rights.h"

#define CLUSTER_SEAT_SERVER_PEERS_MAX 16384
#define CLUSTER_SEAT_SERVER_ROOM      ((size_t)4 << 20) /* bytes of answers for a node */
#define CLUSTER_SEAT_SERVER_STALL_NS  (UINT64_C(10) * 1000000000)

/* Work of all nodes in the store at once: the rest of what it takes is for the seat's own node. */
#define CLUSTER_SEAT_SERVER_TXNS_MAX    48
#define CLUSTER_SEAT_SERVER_READS_MAX   48
#define CLUSTER_SEAT_SERVER_WATCHES_MAX 224

struct cluster_seat_server;
struct cluster_seat_peer;

/* X(name): rules that a node may break. Only DENIED_WRITE and DENIED_READ leave it its link. */
#define CLUSTER_SEAT_SERVER_RULES(X)                        \
    X(FORM)         /* it is no message, or no request */   \
    X(LIMIT)        /* more under way than it may have */   \
    X(WATCHES)      /* a watch too many, or one twice */    \
    X(STALL)        /* it does not read */                  \
    X(DENIED_WRITE) /* a transaction that it may not run */ \
    X(DENIED_READ)  /* a span that it may not read */

enum cluster_seat_server_rule {
#define CLUSTER_SEAT_SERVER_RULE(name) CLUSTER_SEAT_SERVER_##name,
    CLUSTER_SEAT_SERVER_RULES(CLUSTER_SEAT_SERVER_RULE)
#undef CLUSTER_SEAT_SERVER_RULE
        CLUSTER_SEAT_SERVER_RULE_COUNT
};

struct cluster_seat_server_stats {
    uint64_t peers, watches; /* now */
    uint64_t requests;       /* that came */
    uint64_t out_bytes;      /* in answers that wait */
    uint64_t broken[CLUSTER_SEAT_SERVER_RULE_COUNT];
};

/* Serves a store that is the caller's; `rights` is constant. -ENOMEM. */
int cluster_seat_server_open(struct cluster_metastore *store,
                             const struct cluster_seat_rights *rights,
                             struct cluster_seat_server **out);

/* Before the store is closed: no node is served any more. The store goes on with its own part.
 * NULL is ignored. */
void cluster_seat_server_close(struct cluster_seat_server *server);

/* The link to a node is there. RAPAHUB_EBUSY: there is another one to it, which is to be taken away
 * first; RAPAHUB_EFULL: CLUSTER_SEAT_SERVER_PEERS_MAX are known; -ENOMEM. */
int cluster_seat_server_attach(struct cluster_seat_server *server,
                               const struct cluster_seat_node *node,
                               const struct cluster_seat_link *link, void *user,
                               struct cluster_seat_peer **out);

/* The link is gone: all that was not begun for the node is dropped, and its watches end. */
void cluster_seat_server_detach(struct cluster_seat_peer *peer);

/* A STORE_REQUEST has come. A failure, with its diagnosis: the link is to be ended.
 * RAPAHUB_EPROTOCOL, RAPAHUB_EFORMAT, -ENOMEM. */
int cluster_seat_server_frame(struct cluster_seat_peer *peer, uint8_t type,
                              const struct cluster_body *body);

/* To be called after frames, after cluster_metastore_step, and once a link has sent something:
 * begins work and sends answers. */
void cluster_seat_server_step(struct cluster_seat_server *server, uint64_t now_ns,
                              uint64_t *out_next_ns);

void cluster_seat_server_stats(struct cluster_seat_server *server,
                               struct cluster_seat_server_stats *out);

/* Returns "FORM" and so on. */
const char *cluster_seat_server_rule_name(enum cluster_seat_server_rule rule);

#endif
