/* SPDX-License-Identifier: Apache-2.0 */
/* admitted: the rows of dedup and how they hang together. A history has origins, an origin has
 * calls in the order of their numbers; the calls of a peer in a history are counted.
 */
#ifndef CLUSTER_CORE_CALLS_ADMITTED_H
#define CLUSTER_CORE_CALLS_ADMITTED_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/ids.h"
#include "cluster/core/base/index.h"
#include "cluster/core/base/limits.h"
#include "cluster/core/base/table.h"

#define CLUSTER_ADMITTED_PARTS 4 /* a peer has at most one of so many of a history */

/* All places below are of their tables; 0: none. */
struct cluster_admitted_history {
    uint64_t pool, lineage, bytes;
    uint64_t covered;     /* the last end that a copy covers */
    uint64_t restored_ns; /* when its calls came with a copy, while some origin is unheard of; 0 */
    uint32_t container, calls, running;
    uint32_t origins; /* the first */
    uint32_t held, first_held,
        last_held; /* calls whose end is not given out; the first, the last */
    bool holds;    /* an end is given out when a copy covers it */
};

struct cluster_admitted_share {
    uint64_t peer, bytes;
    uint32_t history, calls, origins;
};

struct cluster_admitted_origin {
    uint64_t origin, done_below;
    uint32_t history, share; /* share: of the peer that it belongs to; none of this node */
    uint32_t first, last;    /* calls */
    uint32_t next, previous; /* in the same history */
    bool ended;
    bool unheard;      /* it came with a copy, and has sent nothing since */
    uint64_t until_ns; /* the last deadline of its calls, if they come by another node; 0 */
};

struct cluster_admitted_call {
    uint64_t number; /* counts up; the place is its lower half */
    struct cluster_uid uid;
    uint64_t method, digest, asker;
    uint64_t chain;  /* calls that are made to answer one another */
    uint64_t weight; /* bytes that it is counted with */
    uint64_t end;    /* number of its end */
    uint32_t origin;
    uint32_t next, previous; /* in the same origin */
    uint32_t next_held, previous_held;
    int32_t status, application;
    uint32_t payload;
    uint32_t state; /* enum cluster_dedup_state */
    bool held;      /* its end is not given out yet */
};

struct cluster_admitted {
    struct cluster_limits limits;
    struct cluster_table histories, shares, origins, calls;
    struct cluster_index by_container, by_peer, by_origin, by_uid;
    struct cluster_index by_chain; /* calls that run */
    uint64_t admitted, bytes;
    uint64_t unheard_ns; /* when origins that are unheard of are due; 0: there are none */
    uint64_t distant_ns; /* when origins that come by other nodes are looked at; 0: likewise */
};

int cluster_admitted_init(struct cluster_admitted *all, const struct cluster_limits *limits,
                          uint64_t secret);
void cluster_admitted_fini(struct cluster_admitted *all);

/* Return the row of a place. */
struct cluster_admitted_history *cluster_admitted_at(const struct cluster_admitted *all,
                                                     uint32_t place);
struct cluster_admitted_origin *cluster_admitted_origin_at(const struct cluster_admitted *all,
                                                           uint32_t place);
struct cluster_admitted_call *cluster_admitted_call_at(const struct cluster_admitted *all,
                                                       uint32_t place);

/* Returns the peer that an origin belongs to; 0: this node. */
uint64_t cluster_admitted_peer(const struct cluster_admitted *all, uint32_t origin);

/* A call of an origin comes by another node, and has this deadline; or, 0, from here. */
void cluster_admitted_note_until(struct cluster_admitted *all, uint32_t origin, uint64_t until_ns);

/* Return a place, or 0. */
uint32_t cluster_admitted_find(const struct cluster_admitted *all, uint64_t pool,
                               uint32_t container);
uint32_t cluster_admitted_find_origin(const struct cluster_admitted *all, uint32_t history,
                                      uint64_t origin);
uint32_t cluster_admitted_find_call(const struct cluster_admitted *all, uint32_t origin,
                                    uint64_t number);

/* Return the place of a new row; 0: there is no space. An origin of a peer that is not 0 belongs to
 * it. */
uint32_t cluster_admitted_add(struct cluster_admitted *all, uint64_t pool, uint32_t container);
uint32_t cluster_admitted_add_origin(struct cluster_admitted *all, uint32_t history,
                                     uint64_t origin, uint64_t peer);
uint32_t cluster_admitted_add_call(struct cluster_admitted *all, uint32_t origin, uint64_t number,
                                   uint64_t weight);

/* Counts a call with other bytes than before. */
void cluster_admitted_weigh(struct cluster_admitted *all, uint32_t call, uint64_t weight);

/* A call runs, as one of its chain; or runs no more. */
void cluster_admitted_start(struct cluster_admitted *all, uint32_t call, uint64_t chain);
void cluster_admitted_stop(struct cluster_admitted *all, uint32_t call);

/* Says whether a call of a chain runs in a history. */
bool cluster_admitted_chain_runs(const struct cluster_admitted *all, uint32_t history,
                                 uint64_t chain);

/* Adds a call that has ended to those whose end is held, as the last; or removes it. */
void cluster_admitted_hold(struct cluster_admitted *all, uint32_t call);
void cluster_admitted_let_go(struct cluster_admitted *all, uint32_t call);

/* Names the limit that so many more calls and bytes of an origin would be above: NULL if there is
 * none. */
const char *cluster_admitted_full(const struct cluster_admitted *all, uint32_t origin,
                                  uint32_t calls, uint64_t weight);

/* Remove a row that nothing hangs on any more. */
void cluster_admitted_remove_call(struct cluster_admitted *all, uint32_t call);
void cluster_admitted_remove_origin(struct cluster_admitted *all, uint32_t origin);
void cluster_admitted_remove(struct cluster_admitted *all, uint32_t history);

/* Says whether the counts are those of the rows, and within the limits. For tests: it looks at
 * everything. */
bool cluster_admitted_is_sound(const struct cluster_admitted *all);

#endif
