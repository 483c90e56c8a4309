/* SPDX-License-Identifier: Apache-2.0 */
/* peer_link: one link to another node, and what is common to all of them. A link that fails is only
 * marked; it is closed when nothing uses it any more. For the files of this folder alone.
 */
#ifndef CLUSTER_NODE_PEERS_PEER_LINK_H
#define CLUSTER_NODE_PEERS_PEER_LINK_H

#include <limits.h>

#include "cluster/link/connection.h"
#include "cluster/link/host_port.h"
#include "cluster/link/name_lookup.h"
#include "cluster/node/peers/peer_links.h"
#include "cluster/wire/record.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

#define CLUSTER_PEER_LINK_HELLO_NS UINT64_C(5000000000) /* how long a HELLO may take */

#define CLUSTER_PEER_ROWS_MAX CLUSTER_PEER_LINKS_MAX

/* The data of an epoll event: the index of a link, or this. */
#define CLUSTER_PEER_LINK_WAKE UINT32_MAX

enum cluster_peer_link_state {
    CLUSTER_PEER_LINK_FREE,
    CLUSTER_PEER_LINK_GREETING, /* both sides have not said HELLO yet */
    CLUSTER_PEER_LINK_UP,
    CLUSTER_PEER_LINK_DOOMED, /* it is closed by this step, or the next */
    CLUSTER_PEER_LINK_STATES
};

extern const struct hub_states cluster_peer_link_states;

struct cluster_peer_link {
    struct cluster_peer_links *links;
    uint32_t state;                 /* enum cluster_peer_link_state */
    struct cluster_peer_dial *dial; /* that made it; NULL: the other side has dialled */
    bool told[CLUSTER_PEER_USERS];  /* each that knows that it is up */
    uint32_t node;                  /* as the certificate says; 0: not known yet */
    uint32_t boot;                  /* UP */
    uint64_t session;               /* UP; 0: not known yet */
    uint64_t said;                  /* the own session, as the other side knows it */
    struct cluster_connection *connection;
    const struct cluster_tls *tls; /* the connection's */
    uint64_t hello_ns;             /* GREETING: until then */
    uint32_t interest;             /* in epoll */
    struct hub_list waiting;       /* frames that wait for credit, in order */
    size_t waiting_bytes;
    char where[CLUSTER_HOST_PORT_TEXT]; /* the other side's address */
};

/* A node that is dialled. The first one is the seat of the metastore. */
struct cluster_peer_dial {
    bool wanted;
    uint32_t node; /* its number, as its certificate must say; 0: the seat, any */
    unsigned to_count, to_next;
    struct cluster_host_port to[CLUSTER_RECORD_ADDRESSES_MAX]; /* tried one after the other */
    struct cluster_peer_link *link;                            /* NULL: there is none now */
    struct cluster_name_lookup *lookup;
    struct cluster_name_lookup_found found;
    unsigned tried;       /* of these */
    uint64_t lookup_ns;   /* the look-up is given up then */
    uint64_t next_ns;     /* it is not dialled before */
    uint64_t hurried_ns;  /* when it was last to be dialled at once */
    uint64_t back_off_ns; /* after the next failure */
    char why[256];        /* the last link ended */
    char said[256];       /* the reason that was last logged */
    uint64_t said_ns;     /* then; 0: the other side is there */
};

/* Another node, as the metastore has it. */
struct cluster_peer_row {
    uint32_t node; /* 0: free */
    bool gone;     /* it is none of the cluster any more */
    bool fenced; /* its last session was ended by the node that leads: it is to begin another one */
    uint64_t over; /* the last session that is over; 0: none is known */
    bool mute;     /* it is said that neither it nor this node has an address */
    uint64_t session;
    struct cluster_peer_dial dial;
};

struct cluster_peer_links {
    uint32_t node, boot; /* 0: no life yet */
    uint64_t session;
    uint8_t cluster[CLUSTER_BODY_UUID];
    char folder[PATH_MAX]; /* with the identity */
    struct cluster_tls_context *context;
    const struct cluster_tls_hooks *guard;
    void *guard_user;
    int epoll, wake; /* wake: an eventfd, for links that end between two steps */
    struct hub_closer *closer;
    struct hub_budget *budget; /* bodies in parts, of all */
    const struct cluster_peer_links_hooks *hooks[CLUSTER_PEER_USERS];
    void *users[CLUSTER_PEER_USERS];
    bool left[CLUSTER_PEER_USERS]; /* there was such a user, and is none any more */
    struct cluster_peer_dial seat;
    uint32_t seat_node; /* the seat's number; 0: this node is the seat, or there is none */
    bool dials;         /* others than the seat, too */
    bool reachable;     /* this node has an address in its own record */
    bool fenced;        /* the seat says that the session of this node is over */
    bool none;          /* the seat says that this is no node any more */
    struct cluster_peer_row rows[CLUSTER_PEER_ROWS_MAX];
    uint64_t refusal_ns; /* a refusal was last logged */
    struct cluster_peer_links_counts counts;
    struct cluster_peer_link all[CLUSTER_PEER_LINKS_MAX];
};

/* Returns the link to a node that is up, or NULL. */
struct cluster_peer_link *cluster_peer_link_find(struct cluster_peer_links *links, uint32_t node);

/* Returns what the metastore has of a node, or NULL: it has not told of it. */
struct cluster_peer_row *cluster_peer_link_row(struct cluster_peer_links *links, uint32_t node);

/* Returns a place for a link to a node; NULL, with the diagnosis: there is none. The first place is
 * kept for the link to the seat, whose number is 0 here. */
struct cluster_peer_link *cluster_peer_link_place(struct cluster_peer_links *links, uint32_t node);

/* Tells those that use the links, and do not know it yet, that this one is up. */
void cluster_peer_link_tell(struct cluster_peer_link *link);

/* Closes a link at the end of the step, or by the next one. */
void cluster_peer_link_doom(struct cluster_peer_link *link, const char *why);

/* It has failed, with the diagnosis: counts the rule, and dooms it. */
void cluster_peer_link_fail(struct cluster_peer_link *link);

/* Counts a refusal, with the diagnosis, and logs at most one in a second. */
void cluster_peer_link_note_refused(struct cluster_peer_links *links);

/* Says why in a CLOSE, as far as the socket takes it, and dooms the link. */
void cluster_peer_link_refuse(struct cluster_peer_link *link, int code);

/* Says in a CLOSE that all is done, and dooms the link. */
void cluster_peer_link_end(struct cluster_peer_link *link, const char *text);

/* Writes what waits, and watches the socket for what is needed next. */
void cluster_peer_link_flush(struct cluster_peer_link *link);

/* Makes a link of a socket and its session, which it owns from here on, also after a failure. */
int cluster_peer_link_open(struct cluster_peer_link *link, int fd, struct cluster_tls *tls,
                           const struct cluster_connection_hooks *hooks);

/* Closes a link now, and tells those that know it. */
void cluster_peer_link_close(struct cluster_peer_link *link);

#endif
