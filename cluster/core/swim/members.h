/* SPDX-License-Identifier: Apache-2.0 */
/* members: the nodes that this one knows, each with what it holds of it. The metastore says
 * which nodes are members; probes and gossip, whether they live.
 */
#ifndef CLUSTER_CORE_SWIM_MEMBERS_H
#define CLUSTER_CORE_SWIM_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/list.h"
#include "hub/base/random.h"
#include "hub/base/states.h"

#define CLUSTER_MEMBERS_MAX  16384
#define CLUSTER_ACCUSERS_MAX 4 /* that suspect a member: the first, and others that confirm it */

enum cluster_member_state {
    CLUSTER_MEMBER_ALIVE = 1,
    CLUSTER_MEMBER_PROBE_FAILED, /* known here only, while others are asked */
    CLUSTER_MEMBER_SUSPECTED,
    CLUSTER_MEMBER_DEAD,
    CLUSTER_MEMBER_LEFT
};

extern const struct hub_states cluster_members_states;

struct cluster_member {
    uint32_t id, place;
    uint64_t session;     /* its life; a later one is greater */
    uint32_t refutations; /* raised by itself only */
    uint32_t from;        /* the member that found it so */
    uint32_t state;       /* enum cluster_member_state */
    uint32_t accusers[CLUSTER_ACCUSERS_MAX];
    uint32_t accusers_count;
    uint64_t suspected_ns, timer; /* since when, and what looks at it again */
    struct hub_list gossip;       /* while news of it are to be sent */
    uint32_t sent;                /* how often they were */
    bool queued, refuted;         /* refuted: the news are that it lives after all */
    struct hub_list changed;      /* while the owner has not been told */
    bool told;
};

struct cluster_members {
    struct cluster_table rows;
    struct cluster_index by_id;
    uint32_t present; /* that have not left */
};

/* Makes a table of at most `max` members. -ENOMEM. */
int cluster_members_init(struct cluster_members *members, uint32_t max, uint64_t secret);
void cluster_members_fini(struct cluster_members *members);

/* NULL: none has this number. */
struct cluster_member *cluster_members_find(const struct cluster_members *members, uint32_t id);

/* Adds one that is not there, alive. NULL: there are too many. */
struct cluster_member *cluster_members_add(struct cluster_members *members, uint32_t id,
                                           uint64_t session);

/* Removes one that is in no list and has no timer. */
void cluster_members_remove(struct cluster_members *members, struct cluster_member *member);

/* Returns the member after `place`, or NULL. After 0 comes the first. */
struct cluster_member *cluster_members_after(const struct cluster_members *members, uint32_t place);

/* Changes the state, and counts. */
void cluster_members_move(struct cluster_members *members, struct cluster_member *member,
                          uint32_t state);

/* Which members may be drawn: those in a state up to `state`, but for two. */
struct cluster_members_drawn {
    uint32_t state, but, nor;
};

/* Draws up to `most` different members and returns how many. */
uint32_t cluster_members_draw(const struct cluster_members *members, struct hub_random *random,
                              const struct cluster_members_drawn *which,
                              struct cluster_member **out, uint32_t most);

#endif
