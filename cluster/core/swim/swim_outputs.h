/* SPDX-License-Identifier: Apache-2.0 */
/* swim_outputs: what is to be sent, in a bounded queue. A datagram that finds no place is lost, as
 * any other may be.
 */
#ifndef CLUSTER_CORE_SWIM_SWIM_OUTPUTS_H
#define CLUSTER_CORE_SWIM_SWIM_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_SWIM_OUTPUTS_MAX 256

enum cluster_swim_output_kind {
    CLUSTER_SWIM_OUTPUT_DATAGRAM = 1, /* `data` is sent to `node` */
    CLUSTER_SWIM_OUTPUT_LINK_PROBE, /* `node` is asked over its link; cluster_swim_link_answered */
    CLUSTER_SWIM_OUTPUT_PUSH_PULL,  /* both tell each other all: cluster_swim_merge */
    CLUSTER_SWIM_OUTPUT_CHANGED     /* the owner is told of a member's state */
};

struct cluster_swim_sent { /* it waits to be sent */
    uint8_t kind;          /* enum cluster_swim_output_kind */
    uint8_t type;          /* enum cluster_datagram_type */
    bool uncounted;        /* its news are counted with another datagram of the same round */
    uint32_t node, sequence, target;
};

struct cluster_swim_outputs {
    struct cluster_swim_sent all[CLUSTER_SWIM_OUTPUTS_MAX];
    uint32_t first, count;
    uint64_t lost;
};

void cluster_swim_outputs_add(struct cluster_swim_outputs *outputs,
                              const struct cluster_swim_sent *sent);
bool cluster_swim_outputs_take(struct cluster_swim_outputs *outputs, struct cluster_swim_sent *out);

#endif
