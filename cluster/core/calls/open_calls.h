/* SPDX-License-Identifier: Apache-2.0 */
/* open_calls: the rows of send and how they hang together. A call has members, one for each
 * container that its query means.
 */
#ifndef CLUSTER_CORE_CALLS_OPEN_CALLS_H
#define CLUSTER_CORE_CALLS_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/ids.h"
#include "cluster/core/base/index.h"
#include "cluster/core/base/payload.h"
#include "cluster/core/base/table.h"
#include "cluster/core/calls/dedup.h"
#include "cluster/core/calls/order.h"
#include "cluster/core/calls/resolve.h"
#include "cluster/core/calls/retry.h"

/* What a call that another node sent says more, see struct cluster_peer_frame. */
struct cluster_send_from {
    uint32_t node; /* 0: it was made here */
    uint32_t attempt;
    uint32_t ttl;
    uint64_t token, revision;
};

/* A call as it is asked for. */
struct cluster_send_call {
    uint64_t number; /* the caller's name for it, in effects */
    uint64_t pool;
    struct cluster_resolve_query query;
    struct cluster_uid uid;
    uint64_t method, digest, peer;
    uint64_t done_below;
    uint64_t lineage; /* see struct cluster_dedup_call */
    uint64_t deadline_ns;
    uint64_t reserve;
    uint64_t chain;          /* it is made to answer another call of it; 0: none */
    uint64_t order_previous; /* number of the call before it in its order; 0: none was open */
    uint32_t order;          /* 0: none */
    bool maybe;
    bool collect; /* a member that fails does not end the others */
    bool streams; /* it has some: it is not sent to another node */
    struct cluster_payload_body body;
    struct cluster_send_from from; /* of a call that another node sent */
};

/* All places below are of their tables; 0: none. */
struct cluster_open_call {
    struct cluster_send_call asked;
    struct cluster_pools_method method;
    uint64_t timer;
    uint32_t payload; /* place of its body */
    uint32_t members; /* the first */
    uint32_t pinned;  /* see struct cluster_resolve_members */
    bool single;      /* it has one member: its answer is the call's */
    int32_t status;   /* the first failure of a member */
};

struct cluster_open_member {
    uint64_t id;         /* counts up; the place is its lower half */
    uint64_t wait;       /* PARKED: its id there */
    uint64_t retry;      /* its id with those that are tried again; 0: it is not there */
    uint64_t order;      /* its id in its order; 0: it has none */
    uint64_t after;      /* number of the call that must have been admitted before; 0: none */
    uint64_t timer;      /* ORDERED: until it waits for that call */
    uint64_t lineage;    /* it ran in last, or was sent to, or the caller's */
    uint64_t token;      /* RUNNING: of the life of its container */
    uint64_t awaited;    /* the map is to have this revision before it is sent again; 0: any */
    uint64_t awaited_ns; /* until then */
    uint32_t call, container;
    uint32_t node;           /* SENT: where to */
    uint32_t attempt;        /* SENT: its number */
    uint32_t tries;          /* attempts that were refused or lost */
    bool maybe;              /* it may have run */
    uint32_t next, previous; /* members of the same call */
    uint32_t state;          /* enum cluster_send_state */
};

struct cluster_open_calls {
    struct cluster_table calls, members;
    struct cluster_index by_number; /* calls that were made here */
    struct cluster_index by_sender; /* calls that another node sent */
    struct cluster_index by_uid;    /* members that were sent to another node */
    uint64_t made;
};

/* Makes space for so many calls, and as many members. -ENOMEM. */
int cluster_open_calls_init(struct cluster_open_calls *open, uint32_t max, uint64_t secret);
void cluster_open_calls_fini(struct cluster_open_calls *open);

/* Return the row of a place. */
struct cluster_open_call *cluster_open_calls_at(const struct cluster_open_calls *open,
                                                uint32_t place);
struct cluster_open_member *cluster_open_calls_member(const struct cluster_open_calls *open,
                                                      uint32_t place);

/* Return the place of the call with the caller's number, and of a member by its id; or 0. */
uint32_t cluster_open_calls_find(const struct cluster_open_calls *open, uint64_t number);
uint32_t cluster_open_calls_find_member(const struct cluster_open_calls *open, uint64_t id);

/* Returns the place of the call that a node sent, to this container; or 0. */
uint32_t cluster_open_calls_find_sent_by(const struct cluster_open_calls *open, uint32_t node,
                                         struct cluster_uid uid, uint64_t pool, uint32_t container);

/* Note that a member is under way to another node, which it names, and that it is not any more. */
void cluster_open_calls_note_sent(struct cluster_open_calls *open, uint32_t place);
void cluster_open_calls_note_back(struct cluster_open_calls *open, uint32_t place);

/* Attempts of members that are under way: any, and one whose end is known. */
#define CLUSTER_OPEN_CALLS_ANY  UINT32_MAX
#define CLUSTER_OPEN_CALLS_OVER (UINT32_MAX - 1)

/* Returns the place of a member of this call to this container that is under way to a node, with
 * this attempt, or ANY but OVER; and that is not at `but`. 0: there is none. */
struct cluster_open_calls_sent {
    struct cluster_uid uid;
    uint64_t pool;
    uint32_t container, node;
    uint32_t attempt;
    uint32_t but; /* 0: for none */
};
uint32_t cluster_open_calls_find_sent(const struct cluster_open_calls *open,
                                      const struct cluster_open_calls_sent *sent);

/* Adds a call with so many members, for which there is space, and returns its place. */
uint32_t cluster_open_calls_add(struct cluster_open_calls *open,
                                const struct cluster_open_call *call,
                                const struct cluster_resolve_members *members);

/* Return a call to one of its containers as the order, the history there and the retries know it.
 */
struct cluster_order_key cluster_open_calls_order(const struct cluster_open_call *call,
                                                  uint32_t container);
struct cluster_dedup_call cluster_open_calls_asks(const struct cluster_open_call *call,
                                                  const struct cluster_open_member *member);
struct cluster_retry_call cluster_open_calls_again(const struct cluster_open_call *call,
                                                   const struct cluster_open_member *member);

/* Says whether the call before it in its order has not come here: that may have been refused, and
 * come again. */
bool cluster_open_calls_misses(const struct cluster_open_call *call,
                               const struct cluster_open_member *member,
                               const struct cluster_dedup *dedup);

/* Remove a member; and a call that has none any more. */
void cluster_open_calls_remove_member(struct cluster_open_calls *open, uint32_t place);
void cluster_open_calls_remove(struct cluster_open_calls *open, uint32_t place);

#endif
