/* SPDX-License-Identifier: Apache-2.0 */
/* receive: a call has come to a container that serves here. It runs, or it has been here before. */
#ifndef CLUSTER_CORE_CALLS_RECEIVE_H
#define CLUSTER_CORE_CALLS_RECEIVE_H

#include <stdint.h>

#include "cluster/core/base/effects.h"
#include "cluster/core/base/payload.h"
#include "cluster/core/base/pending.h"
#include "cluster/core/calls/dedup.h"
#include "cluster/core/map/local_containers.h"

struct cluster_receive {
    const struct cluster_local_containers *locals;
    struct cluster_dedup *dedup;
    struct cluster_payload *payload;
    struct cluster_pending *pending;
    struct cluster_effects_queue *effects;
};

enum cluster_receive_outcome {
    CLUSTER_RECEIVED_RUNS,     /* its end will come to its asker */
    CLUSTER_RECEIVED_ANSWERED, /* it has run before; the payload of the answer has one user more */
    CLUSTER_RECEIVED_REFUSED,  /* for ever, with `answer.status` */
    CLUSTER_RECEIVED_BUSY      /* there is no room now */
};

struct cluster_receive_result {
    enum cluster_receive_outcome outcome;
    struct cluster_dedup_answer answer;
};

/* Admits a call with the body that is kept as `payload`; its container serves here. */
void cluster_receive_call(struct cluster_receive *receive, const struct cluster_dedup_call *call,
                          uint32_t payload, uint64_t deadline_ns,
                          struct cluster_receive_result *out);

/* Takes away those of the effects that would run a call in a life which has ended since the call
 * was admitted. Their questions end, as that of a run does which its guest did not survive. */
void cluster_receive_sift(struct cluster_receive *receive, struct cluster_effects *effects);

struct cluster_receive_end {
    uint64_t asker; /* it is to be told now; 0: the end is held */
    uint64_t pool;
    uint32_t container;
};

/* Takes the answer of the run with this id. False: the call is not known any more, for its
 * container has begun anew, or its origin has ended. */
bool cluster_receive_end(struct cluster_receive *receive, uint64_t id,
                         const struct cluster_dedup_answer *answer,
                         struct cluster_receive_end *out);

#endif
