/* SPDX-License-Identifier: Apache-2.0 */
/* look: a member of a call looks for its container, and goes where that is: it runs here, waits
 * here, or is sent to another node; each time anew, until it has ended.
 */
#ifndef CLUSTER_CORE_CALLS_LOOK_H
#define CLUSTER_CORE_CALLS_LOOK_H

#include <stdint.h>

#include "cluster/core/calls/call_ends.h"

/* So long a call of another node waits for the map of this one. */
#define CLUSTER_LOOK_BEHIND_NS (UINT64_C(100) * 1000000)
/* So long a call of this node waits for its map, before it is sent by an old one. */
#define CLUSTER_LOOK_AWAITED_NS (UINT64_C(1000) * 1000000)
/* Refusals in a row after which a call is sent again at once, where they say what was wrong. */
#define CLUSTER_LOOK_AT_ONCE 3

/* Looks for the container of a member that is LOOKING. The call may end within. */
void cluster_look_for(struct cluster_send *send, uint32_t place, uint64_t now_ns);

/* The same for a member that waits. */
void cluster_look_again(struct cluster_send *send, uint64_t member, uint64_t now_ns);

/* It is not known what became of a member that is SENT: it is looked for as one that may have run.
 */
void cluster_look_lost(struct cluster_send *send, uint32_t place, uint64_t now_ns);

/* Another node has refused a member that is SENT: it was not admitted. */
struct cluster_look_refusal {
    uint64_t revision;       /* the map of that node has it */
    uint64_t epoch, lineage; /* the container has them there; 0: unknown */
};
void cluster_look_refused(struct cluster_send *send, uint32_t place,
                          const struct cluster_look_refusal *refusal, uint64_t now_ns);

#endif
