/* SPDX-License-Identifier: Apache-2.0 */
/* detector: finds out which other nodes live: the object of cluster/core/swim with a socket, the
 * keys of datagrams, and the links to other nodes. Members are the nodes of the metastore. Its
 * verdicts are shown, and move no container.
 *
 * It runs where the node listens at an address that others can send to, once it has a key. All that
 * comes to its socket may be anybody's: what is not sealed with a key of the cluster is counted,
 * and costs no more than to find that out. Owner; nothing here waits.
 */
#ifndef CLUSTER_NODE_DETECTION_DETECTOR_H
#define CLUSTER_NODE_DETECTION_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/core/swim/swim.h"
#include "cluster/link/keyring.h"
#include "cluster/wire/record.h"

struct cluster_detector;
struct cluster_peer_links;

struct cluster_detector_options {
    const uint8_t *cluster; /* uuid, 16 bytes */
    uint32_t node, boot;
    uint64_t session;
    uint32_t lead;       /* the node that makes the keys, and hands them to others; 0: this one */
    bool moves;          /* another one may lead later: cluster_detector_set_lead */
    const char *profile; /* a name of cluster_detector_profiles; NULL: the first one */
    struct rapahub_string address;    /* HOST:PORT in numbers, where it listens; none: nowhere */
    struct cluster_peer_links *links; /* live longer */
};

/* How soon and how patiently: see CLUSTER_SWIM_LAN and those beside it. */
struct cluster_detector_profile {
    const char *name; /* NULL: the end of the list */
    uint64_t period_ns, direct_ns, indirect_ns, suspicion_ns;
    uint32_t alpha;
};
extern const struct cluster_detector_profile cluster_detector_profiles[];

/* A verdict of this node on another one, or on itself. */
struct cluster_detector_verdict {
    const char *word;                            /* alive, suspect, dead or left */
    uint64_t since_s;                            /* it is so since then, in seconds since 1970 */
    struct cluster_swim_incarnation incarnation; /* the last one that is known */
};

struct cluster_detector_figures {
    const char *profile; /* NULL: it does not run */
    struct cluster_swim_figures swim;
    struct cluster_keyring_figures keys;
    uint64_t sent, unsent; /* datagrams; those that the socket did not take */
    uint64_t strangers;    /* datagrams of no node that is known */
    uint64_t dropped;      /* datagrams that were not read: too many came */
};

/* Makes the detector of a node, with its socket, and does not begin. RAPAHUB_EINVAL: there is no
 * such profile. -EADDRINUSE and others of the socket, -ENOMEM. */
int cluster_detector_create(const struct cluster_detector_options *options,
                            struct cluster_detector **out);
void cluster_detector_release(struct cluster_detector **self);

/* Begins: the session of this node was told to those that it is linked to. */
int cluster_detector_begin(struct cluster_detector *self);

/* Readable when cluster_detector_step has something to do; -1: it never is. */
int cluster_detector_fd(const struct cluster_detector *self);

/* Does what is due. `revision` is that of this node's map. Returns when it is to be called again at
 * the latest, or HUB_NEVER. In each turn of the node, with whether the descriptor was readable. */
uint64_t cluster_detector_step(struct cluster_detector *self, uint64_t now_ns, uint64_t revision,
                               bool readable);

/* Notes what the metastore has of a node: its session, or 0, and its record, or NULL: it has none
 * any more. */
void cluster_detector_node(struct cluster_detector *self, uint32_t node, uint64_t session,
                           const struct cluster_record_node *record);

/* Another node leads now, or this one does: 0. The key stays; one that leads hands it to all. */
int cluster_detector_set_lead(struct cluster_detector *self, uint32_t lead);

/* A certificate was revoked: where this node leads another key is used from now on. */
void cluster_detector_renew_key(struct cluster_detector *self);

/* This node stops in order: others are told, at once. */
void cluster_detector_leave(struct cluster_detector *self);

/* Says what is held of a node. False: nothing is. */
bool cluster_detector_verdict(const struct cluster_detector *self, uint32_t node,
                              struct cluster_detector_verdict *out);

/* Returns how often a verdict has changed; says whether a node is held dead, or has left. */
uint64_t cluster_detector_changes(const struct cluster_detector *self);
bool cluster_detector_is_away(const struct cluster_detector *self, uint32_t node);

/* Returns the node with the next larger number of which something is held; 0: there is none. */
uint32_t cluster_detector_after(const struct cluster_detector *self, uint32_t node);

/* Says whether another node leads, and there is no link to it. */
bool cluster_detector_leader_is_away(const struct cluster_detector *self);

struct cluster_detector_figures cluster_detector_figures(const struct cluster_detector *self);

#endif
