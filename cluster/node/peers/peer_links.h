/* SPDX-License-Identifier: Apache-2.0 */
/* peer_links: the links of this node to other nodes, by TLS, both with certificates of the cluster.
 * A node has one link to another one: in its number, as its certificate says, and in its boot, as
 * it says in a HELLO. Where the same node comes with a higher boot its link of before ends; one
 * that comes with the same boot or a lower one is refused.
 *
 * The session of a node is in its HELLO. A node that has none yet, since it begins its session by
 * way of this link, says HELLO once more when it has it; before that it speaks to the seat of the
 * metastore alone.
 *
 * All that another node writes is hostile: what breaks a rule ends its link, and is counted by the
 * name of the rule. Owner; nothing waits, and all that another node does or leaves undone is
 * bounded.
 */
#ifndef CLUSTER_NODE_PEERS_PEER_LINKS_H
#define CLUSTER_NODE_PEERS_PEER_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/rule_counts.h"
#include "cluster/link/tls.h"
#include "cluster/wire/body.h"
#include "cluster/wire/frame.h"

#define CLUSTER_PEER_LINKS_MAX      64         /* also before the end of their HELLO */
#define CLUSTER_PEER_LINKS_NODE     4          /* for each node */
#define CLUSTER_PEER_LINKS_WAIT_MAX (8u << 20) /* bytes of calls that wait for credit of a node */

struct cluster_peer_links;

/* The users of the links: each has the frames of its kind. */
enum cluster_peer_user {
    CLUSTER_PEER_STORE, /* STORE_*: the seat of the metastore, or who asks it */
    CLUSTER_PEER_CALLS, /* CALL, RESULT, NACK, CANCEL */
    /* STEP_DONE: the node that leads, or who reports to it; and DEATH, of a link that is not up */
    CLUSTER_PEER_STEPS,
    CLUSTER_PEER_BLOBS,        /* BLOB_ASK, BLOB_PART: who has the file of a module, or lacks it */
    CLUSTER_PEER_CERTIFICATES, /* RENEW, RENEWED: who has the authority, or lacks it */
    CLUSTER_PEER_COPIES,       /* COPY_*: who keeps copies of states, or whose they are */
    /* PUSH_PULL, LINK_PROBE, DATAGRAM_KEY: who finds out which nodes live */
    CLUSTER_PEER_DETECTION,
    CLUSTER_PEER_USERS
};

/* Upwards; all run inside of cluster_peer_links_step, or of the function that sets them. They may
 * send, but must not step. A constant table. */
struct cluster_peer_links_hooks {
    /* The link to a node is up. Its session is known, but for STORE it may be 0. */
    void (*up)(void *user, uint32_t node, uint64_t session, uint32_t boot);
    /* It is gone, with all that was under way. */
    void (*lost)(void *user, uint32_t node);
    /* A frame has come, whole and sound by itself; good until this returns. A failure, with its
     * diagnosis, ends the link. */
    int (*frame)(void *user, uint32_t from, const struct cluster_frame *header,
                 struct rapahub_bytes body);
};

/* The life of this node. */
struct cluster_peer_links_life {
    uint32_t node, boot;
    const uint8_t *cluster; /* uuid, CLUSTER_BODY_UUID bytes */
    const char *tls;        /* folder with ca.pem, node.pem and node.key */
};

/* For people. */
struct cluster_peer_links_counts {
    uint32_t links;   /* that are up, now */
    uint64_t refused; /* since the start: links, also at their HELLO */
    struct cluster_rule_counts broken;
};

/* Makes links of a node that has no life yet: none come, and none go. -ENOMEM, -EMFILE. */
int cluster_peer_links_create(struct cluster_peer_links **out);

/* Ends all; the other sides see that. */
void cluster_peer_links_release(struct cluster_peer_links **self);

/* Takes the identity of this life from its folder: see cluster_tls_open. */
int cluster_peer_links_begin(struct cluster_peer_links *self,
                             const struct cluster_peer_links_life *life);

/* The node has its session, and tells it to those that it is linked to. */
void cluster_peer_links_set_session(struct cluster_peer_links *self, uint64_t session);

/* Sets who uses the links, and tells it those that are up; NULL: no one does any more. `user` lives
 * until then. */
void cluster_peer_links_set_user(struct cluster_peer_links *self, enum cluster_peer_user which,
                                 const struct cluster_peer_links_hooks *hooks, void *user);

/* Says which certificates are revoked; NULL: it is not known. */
void cluster_peer_links_set_guard(struct cluster_peer_links *self,
                                  const struct cluster_tls_hooks *guard, void *user);

/* A certificate was revoked, or the own one was renewed: links of the former end. */
void cluster_peer_links_look_at_certificates(struct cluster_peer_links *self);

/* Takes a node that has connected, whose handshake has ended; socket and session are the links'
 * from here on. `from` is its address. */
void cluster_peer_links_take(struct cluster_peer_links *self, int fd, struct cluster_tls *tls,
                             const char *from);

/* Closes those that were taken: their sessions end before the listener they came by does. */
void cluster_peer_links_close_taken(struct cluster_peer_links *self);

/* Keeps a link to the node at HOST:PORT: it is dialled again, after 0.1 to 5 s, whenever it is
 * lost. There is one such address at a time. -EINVAL. */
int cluster_peer_links_dial(struct cluster_peer_links *self, const char *to);
void cluster_peer_links_dial_no_more(struct cluster_peer_links *self);

/* Returns the node that is dialled, while its link is up; else 0. */
uint32_t cluster_peer_links_dialled(const struct cluster_peer_links *self);

/* Returns the session of a node whose link is up; 0: it is not known, or there is no link. */
uint64_t cluster_peer_links_session(struct cluster_peer_links *self, uint32_t node);

/* Says whether the seat has refused this node, since its session was ended there. */
bool cluster_peer_links_is_fenced(const struct cluster_peer_links *self);

/* Says whether the seat has refused this node, since it is none of the cluster any more. */
bool cluster_peer_links_is_none(const struct cluster_peer_links *self);

/* Sends a frame of CALLS, STEPS or DETECTION: copied. Without credit of the other side it waits, in
 * its order. -ENOTCONN: no link to the node is up, or its session is not known. RAPAHUB_EFULL: too
 * much waits; the link ends, which `lost` tells. Others of cluster_connection_put: likewise. */
int cluster_peer_links_send(struct cluster_peer_links *self, uint32_t node,
                            const struct cluster_frame *header, struct rapahub_bytes body);

/* The functions of a struct cluster_seat_link for the link to a node. */
bool cluster_peer_links_has_room(const struct cluster_peer_links *self, uint32_t node);
int cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                           const struct cluster_body *body);
void cluster_peer_links_hang_up(struct cluster_peer_links *self, uint32_t node);

/* Readable when cluster_peer_links_step has something to do. */
int cluster_peer_links_fd(const struct cluster_peer_links *self);

/* Serves all links, and dials. Returns when it is to be called again at the latest, or HUB_NEVER.
 */
uint64_t cluster_peer_links_step(struct cluster_peer_links *self, uint64_t now_ns);

const struct cluster_peer_links_counts *cluster_peer_links_counts(
    const struct cluster_peer_links *self);

#endif
