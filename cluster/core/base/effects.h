/* SPDX-License-Identifier: Apache-2.0 */
/* effects: the work that the core wants done outside, in the order in which it wants it. A step
 * hands out a bounded number; the rest waits for the next step, for which a timer asks.
 */
#ifndef CLUSTER_CORE_BASE_EFFECTS_H
#define CLUSTER_CORE_BASE_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/base/ids.h"
#include "cluster/base/txn.h"
#include "cluster/core/base/peer_frame.h"

#define CLUSTER_EFFECTS_MAX      256 /* in a step */
#define CLUSTER_EFFECTS_BODY_MAX 512 /* bytes; a larger body stays outside and has a number */

/* A body, and a text beside it, are good until the next step. A transaction is good until its event
 * STORE has been told. */
enum cluster_effect_kind {
    CLUSTER_EFFECT_TIMER = 1, /* a step at `at_ns`: now, or else instead of the one before */
    CLUSTER_EFFECT_RANGE,     /* the map is read anew from the metastore */
    CLUSTER_EFFECT_RUN,       /* a call goes to a container of this node, until `at_ns` */
    CLUSTER_EFFECT_EACH,      /* call `number` has ended in one of its containers */
    CLUSTER_EFFECT_ANSWER,    /* call `number` has ended: its caller is told */
    CLUSTER_EFFECT_DROP,      /* the body with the number `payload` is needed no more */
    CLUSTER_EFFECT_TXN,     /* `txn` is carried out: event STORE. It has no id of its own yet; it is
                               sent, with the same one, until its outcome is known */
    CLUSTER_EFFECT_BEGIN,   /* a container begins, managed and held, by `at_ns`: event BEGUN. With
                               `token` and `lineage`, `how`, and the newest copy on this node's disk,
                               if `copy` is set and there is one */
    CLUSTER_EFFECT_HOLD,    /* calls to the container wait; no event */
    CLUSTER_EFFECT_RELEASE, /* they go on; no event */
    CLUSTER_EFFECT_REMOVE,  /* the container ends, if it is up; its guest too, once no container of
                               the pool is in it; its folder and its copies go: event REMOVED. It may
                               come again */
    CLUSTER_EFFECT_ORDERED, /* order `number` has ended: `status`, `text`; `body` is the number of
                               the operation in 8 bytes, little-endian, 0: none */
    CLUSTER_EFFECT_COPY, /* the state of the container is copied to the disk by `at_ns`, as number
                            `number` of the life with `token`; `how` says wholly, or as what has
                            changed since `number` - 1; a module that cannot do that saves all.
                            cluster_core_covered writes the calls for it, before event SAVED. Event
                            COPIED. A life that begins loads after the copies before it ended */
    CLUSTER_EFFECT_SEND, /* `frame` goes to a node whose link is up, with the body; where it cannot
                            be sent the link is lost: event PEER */
    CLUSTER_EFFECT_REPORT, /* node `number`, which leads, is told how far this one is with a
                              container: `how` is the step of a STEP_DONE, with `epoch`, `status`
                              and `text`. Where its link is not up it is dropped */
    CLUSTER_EFFECT_HELD, /* node `number`, which leads, is told that `node`, which joins the holders
                            of a container by the record with `revision`, has a full copy of
                            `epoch`; likewise */
    CLUSTER_EFFECT_KINDS
};

enum cluster_effect_begin { /* `how` of BEGIN: the callback that begins the container */
                            CLUSTER_BEGIN_INIT,    /* for the first time */
                            CLUSTER_BEGIN_RESTART, /* again, on its node */
                            CLUSTER_BEGIN_RECOVER  /* again, after it was lost or given up */
};

enum cluster_effect_copy { CLUSTER_COPY_WHOLE, CLUSTER_COPY_CHANGES }; /* `how` of COPY */

struct cluster_effect {
    uint64_t id; /* an event with it comes, once; 0: none comes */
    uint64_t at_ns, number;
    uint64_t pool, method;
    struct cluster_uid uid;                 /* RUN */
    uint64_t chain;                         /* RUN: calls that are made to answer it have it too */
    uint64_t payload;                       /* number of a body that is outside; 0: it is `body` */
    uint64_t token, lineage;                /* of the life of the container; RUN has the token */
    uint64_t epoch;                         /* REPORT, HELD: of its entry */
    uint64_t revision;                      /* HELD: of the record of its holders */
    const struct cluster_txn *txn;          /* TXN */
    const struct cluster_peer_frame *frame; /* SEND; good as long as a body */
    uint32_t container, node;
    int32_t status, application;
    uint8_t kind, how;
    bool copy; /* BEGIN */
    struct rapahub_bytes body;
    struct rapahub_string text; /* ORDERED: why; with the body at most CLUSTER_EFFECTS_BODY_MAX */
};

struct cluster_effects {
    uint32_t count;
    struct cluster_effect effects[CLUSTER_EFFECTS_MAX];
};

struct cluster_effects_queue;

/* Makes a queue of at most `max` effects, more than CLUSTER_EFFECTS_MAX. -ENOMEM. */
int cluster_effects_create(uint32_t max, struct cluster_effects_queue **out);
void cluster_effects_release(struct cluster_effects_queue **queue);

/* Returns how many more there may be, beside those for which places are reserved. */
uint32_t cluster_effects_space(const struct cluster_effects_queue *queue);

/* Reserves places, for which there is space, or gives them back: just before they are used, or when
 * they are not needed any more. */
void cluster_effects_reserve(struct cluster_effects_queue *queue, uint32_t places);
void cluster_effects_unreserve(struct cluster_effects_queue *queue, uint32_t places);

/* Adds a copy of the effect; there is space, and its body and its text are not too large. */
void cluster_effects_add(struct cluster_effects_queue *queue, const struct cluster_effect *effect);

/* Takes the next ones. Their bodies are good until this is called again. Where more are left it
 * returns true, and the last one of `out` is a timer for `now_ns`: a later moment that was asked
 * for is to be asked for again. */
bool cluster_effects_take(struct cluster_effects_queue *queue, uint64_t now_ns,
                          struct cluster_effects *out);

#endif
