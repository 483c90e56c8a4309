/* SPDX-License-Identifier: Apache-2.0 */
/* runs: calls that run in containers of this node's host, as the core wants them. Owner.
 */
#ifndef CLUSTER_NODE_CALLS_RUNS_H
#define CLUSTER_NODE_CALLS_RUNS_H

#include <stdint.h>

#include "cluster/core/base/effects.h"
#include "cluster/node/base/buffers.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/base/pool_records.h"
#include "cluster/node/calls/nested.h"
#include "cluster/node/calls/node_calls.h"
#include "hub/base/list.h"

struct cluster_runs {
    struct rapahub_host *host;
    struct cluster_event_queue *events;
    struct cluster_buffers *buffers;
    struct cluster_node_calls *calls;
    struct cluster_nested *nested;
    const struct cluster_pool_records *pools;
    uint32_t count;       /* that have not ended */
    struct hub_list open; /* they */
};

/* Carries out a RUN effect: event RUN follows, once. A stream of the call is given to one run of it
 * only; another one ends with RAPAHUB_EMAYBE. */
void cluster_runs_begin(struct cluster_runs *runs, const struct cluster_effect *effect);

/* The guest of a container is dead. Runs in it end as that says, and none that has not reached it
 * waits for its next life: the core runs the call there, as a new run. */
void cluster_runs_down(struct cluster_runs *runs, uint64_t pool, uint32_t container);

/* Returns a body for the core, of an answer or of its text. */
struct cluster_payload_body cluster_runs_body(struct cluster_runs *runs,
                                              const struct rapahub_raw_answer *answer, int *status);

#endif
