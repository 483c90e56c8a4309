/* SPDX-License-Identifier: Apache-2.0 */
/* dedup: which calls each container of this node has admitted, and how they ended, so that a call
 * which is sent again does not run again. A container's history is of one lineage. Calls are named
 * by their uid; one that its origin has had the answer of is forgotten, and never admitted again. A
 * full history refuses, it never forgets a call to admit another one.
 */
#ifndef CLUSTER_CORE_CALLS_DEDUP_H
#define CLUSTER_CORE_CALLS_DEDUP_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/ids.h"
#include "cluster/core/base/limits.h"
#include "cluster/core/base/payload.h"
#include "hub/base/states.h"

enum cluster_dedup_state {
    CLUSTER_DEDUP_RUNNING,
    CLUSTER_DEDUP_DONE, /* and its answer is kept */
    CLUSTER_DEDUP_LOST, /* it has run, but there was no room for its answer */
    CLUSTER_DEDUP_STATES
};

extern const struct hub_states cluster_dedup_states;

struct cluster_dedup;

/* A call that asks to be admitted. */
struct cluster_dedup_call {
    uint64_t pool;
    uint32_t container;
    struct cluster_uid uid;
    uint64_t method, digest; /* of its arguments: a uid is of one call only */
    uint64_t peer;           /* who sends it; 0: this node, which has no share */
    uint64_t done_below;     /* all lower numbers of its origin have ended there */
    uint64_t lineage;        /* that it was last admitted in; 0: none */
    bool maybe;              /* it may have been admitted before */
    bool repeat;             /* it may run twice */
    uint64_t reserve;        /* bytes for which there shall be room when it ends */
    uint64_t asker;          /* the caller's, for who is told of the end */
    uint64_t chain;          /* calls that are made to answer one another; 0: it is the first */
    uint64_t until_ns;       /* its deadline, if another node sent it; 0: it was made here */
};

struct cluster_dedup_answer {
    int32_t status, application;
    uint32_t payload; /* place of its body, or of the text of a failure; 0: it is not there */
};

struct cluster_admitted;

enum cluster_dedup_verdict {
    CLUSTER_VERDICT_NEW,     /* it has not been here: it may be admitted */
    CLUSTER_VERDICT_RUNNING, /* it runs, or its end is held; that will be told to this asker */
    CLUSTER_VERDICT_DONE,    /* it is answered with the answer that is kept */
    CLUSTER_VERDICT_LOST,    /* it has run, and nothing more is known */
    CLUSTER_VERDICT_OTHER,   /* another call has its uid */
    CLUSTER_VERDICT_ENDED,   /* its origin has had its end */
    CLUSTER_VERDICT_MAYBE    /* it may have run in another lineage, and must not run twice */
};

/* Makes histories within these limits, whose answers are kept in `payload`. -ENOMEM. */
int cluster_dedup_create(const struct cluster_limits *limits, uint64_t secret,
                         struct cluster_payload *payload, struct cluster_dedup **out);

/* The store of the payloads is still there. */
void cluster_dedup_release(struct cluster_dedup **dedup);

/* A life of a container begins. In the lineage of its history the calls that run are forgotten, and
 * so are those whose end is later than `covered`, for its state does not have them: they may run
 * again. In another lineage all calls are forgotten. RAPAHUB_EFULL: there are too many containers.
 */
int cluster_dedup_begin(struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                        uint64_t lineage, uint64_t covered);

/* Returns the chain of a call: one that is the first begins one, which is the same whenever it
 * runs. */
uint64_t cluster_dedup_chain(const struct cluster_dedup *dedup,
                             const struct cluster_dedup_call *call);

/* Returns the number of the last end of all. */
uint64_t cluster_dedup_last_end(const struct cluster_dedup *dedup);

/* Forgets a container, if it is known. */
void cluster_dedup_forget(struct cluster_dedup *dedup, uint64_t pool, uint32_t container);

/* Says what becomes of a call to a container that has begun; first it notes `done_below`. RUNNING:
 * `asker` is noted. DONE: `answer` is set, and its payload has one user more. */
enum cluster_dedup_verdict cluster_dedup_look(struct cluster_dedup *dedup,
                                              const struct cluster_dedup_call *call,
                                              struct cluster_dedup_answer *answer);

/* Says whether a container has admitted a call, or has been told that it has ended. */
bool cluster_dedup_has(const struct cluster_dedup *dedup, uint64_t pool, uint32_t container,
                       struct cluster_uid uid);

/* Admits a call that is NEW, and returns its number in `out`. -EBUSY, with the limit in the text.
 */
int cluster_dedup_admit(struct cluster_dedup *dedup, const struct cluster_dedup_call *call,
                        uint64_t *out);

/* Finds the container that a call was admitted to. False: it is not known any more. */
bool cluster_dedup_where(const struct cluster_dedup *dedup, uint64_t number, uint64_t *pool,
                         uint32_t *container);

/* An admitted call has ended. Its answer is kept, and then its payload has one user more, if there
 * is room for `weight` more bytes; an answer without a payload is not kept. Sets `asker`, who is to
 * be told, 0: its end is held. Returns the number of this end, from 1, rising. 0:
 * it is not known any more. */
uint64_t cluster_dedup_end(struct cluster_dedup *dedup, uint64_t number,
                           const struct cluster_dedup_answer *answer, uint64_t weight,
                           uint64_t *asker);

/* An origin has ended for ever, and nothing comes of it any more: all of it is dropped. */
void cluster_dedup_end_origin(struct cluster_dedup *dedup, uint64_t origin);

struct cluster_dedup_figures {
    uint32_t calls, running, held, origins;
    uint64_t bytes;
};

/* Returns how many calls run in a container. */
uint32_t cluster_dedup_running(const struct cluster_dedup *dedup, uint64_t pool,
                               uint32_t container);

/* Returns the figures of a container, or of all where `pool` is 0. */
struct cluster_dedup_figures cluster_dedup_figures(const struct cluster_dedup *dedup, uint64_t pool,
                                                   uint32_t container);

/* Returns its rows, for what reads and writes them as a whole, and the store of their payloads. */
struct cluster_admitted *cluster_dedup_rows(struct cluster_dedup *dedup,
                                            struct cluster_payload **payload);

/* Says whether its counts are right and within their limits. For tests: it looks at everything. */
bool cluster_dedup_is_sound(const struct cluster_dedup *dedup);

#endif
