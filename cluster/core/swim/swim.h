/* SPDX-License-Identifier: Apache-2.0 */
/* swim: which nodes live, found out by probes, gossip and doubt of oneself (SWIM with Lifeguard). A
 * pure object: the time is an argument, datagrams are bytes, random numbers come from a seed. A
 * verdict wakes the fencer and never moves a container.
 *
 * Its clock stands still while its owner does not run it: a node that was stopped suspects no other
 * for the answers that it could not read.
 */
#ifndef CLUSTER_CORE_SWIM_SWIM_H
#define CLUSTER_CORE_SWIM_SWIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/core/swim/members.h"
#include "cluster/core/swim/swim_outputs.h"
#include "cluster/wire/datagram.h"

struct cluster_swim;

struct cluster_swim_options {
    uint32_t node;
    uint64_t session, seed;
    uint32_t members_max;            /* 0: CLUSTER_MEMBERS_MAX */
    uint64_t period_ns;              /* between two probes */
    uint32_t alpha;                  /* how patient suspicions are */
    uint64_t direct_ns, indirect_ns; /* a probe waits so long; 0: half a period, the rest of it */
    uint64_t suspicion_ns;           /* 0: by the number of members, alpha and confirmations */
};

/* Profiles: the members from `period_ns` on. SEED has the constants of the protocol that this one
 * replaces. */
#define CLUSTER_SWIM_LAN  .period_ns = UINT64_C(1000000000), .alpha = 4
#define CLUSTER_SWIM_FAST .period_ns = UINT64_C(500000000), .alpha = 3
#define CLUSTER_SWIM_WAN  .period_ns = UINT64_C(1000000000), .alpha = 5
#define CLUSTER_SWIM_SEED                                                             \
    .period_ns = UINT64_C(2000000000), .alpha = 4, .direct_ns = UINT64_C(5000000000), \
    .indirect_ns = UINT64_C(3000000000), .suspicion_ns = UINT64_C(10000000000)

struct cluster_swim_output {
    uint8_t kind; /* enum cluster_swim_output_kind */
    uint32_t node;
    uint32_t sequence;   /* LINK_PROBE */
    uint32_t state;      /* CHANGED: enum cluster_member_state */
    uint64_t session;    /* CHANGED */
    const uint8_t *data; /* good until the next one is taken */
    size_t size;
};

struct cluster_swim_incarnation {
    uint64_t session;
    uint32_t refutations;
};

struct cluster_swim_figures {
    uint32_t members, news; /* that are known; that wait to be told */
    uint8_t health;         /* this node's, 0 to 8 */
    uint64_t probes, failed_directly, failed;
    uint64_t refuted, unknown,
        impossible; /* updates: this node in doubt; no such member; too large a number */
    uint64_t malformed, earlier; /* datagrams: not sound; of an earlier life */
    uint64_t stalls, stalled_ns; /* how often and how long it was not run */
    uint64_t lost;               /* datagrams that found no place */
};

/* Makes the object of a node, which is its first member. -EINVAL, -ENOMEM. */
int cluster_swim_create(const struct cluster_swim_options *options, uint64_t now_ns,
                        struct cluster_swim **out);
void cluster_swim_release(struct cluster_swim **swim);

/* Notes a node of the metastore in a session, and forgets one. Failures as
 * cluster_verdicts_add. */
int cluster_swim_add(struct cluster_swim *swim, uint32_t node, uint64_t session);
void cluster_swim_forget(struct cluster_swim *swim, uint32_t node);

/* Takes a payload whose sender was proven. RAPAHUB_EPROTOCOL: it is not sound, and was counted. */
int cluster_swim_hear(struct cluster_swim *swim, uint64_t now_ns, uint32_t from,
                      const uint8_t *payload, size_t size);

/* Notes that a node answered over its link; `sequence` is that of the output. */
void cluster_swim_link_answered(struct cluster_swim *swim, uint64_t now_ns, uint32_t node,
                                uint32_t sequence);

/* Does what is due, and says when to call it again. Datagrams that have come are heard before. */
void cluster_swim_step(struct cluster_swim *swim, uint64_t now_ns);
uint64_t cluster_swim_next(const struct cluster_swim *swim);

/* Takes what is to be done outside. False: nothing is left. */
bool cluster_swim_take(struct cluster_swim *swim, struct cluster_swim_output *out);

/* Writes what is known of the member after `*place`, 0 for the first, and moves `*place`. False:
 * there is none. The other takes it with cluster_swim_merge. */
bool cluster_swim_tell(const struct cluster_swim *swim, uint32_t *place,
                       struct cluster_update *out);
void cluster_swim_merge(struct cluster_swim *swim, uint64_t now_ns,
                        const struct cluster_update *update);

/* This node leaves in order. Datagrams of it are there to be taken at once, and it goes on telling
 * it until it is released. */
void cluster_swim_leave(struct cluster_swim *swim);

/* The revision of this node's map, which datagrams carry. */
void cluster_swim_set_revision(struct cluster_swim *swim, uint64_t revision);

/* Returns the state of a member, enum cluster_member_state, or 0. */
uint32_t cluster_swim_state(const struct cluster_swim *swim, uint32_t node);

/* Returns what tells the lives of a member, and its words in one of them, from each other; all 0:
 * it is not known. */
struct cluster_swim_incarnation cluster_swim_incarnation(const struct cluster_swim *swim,
                                                         uint32_t node);
struct cluster_swim_figures cluster_swim_figures(const struct cluster_swim *swim);

#endif
