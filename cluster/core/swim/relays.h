/* SPDX-License-Identifier: Apache-2.0 */
/* relays: probes that this node sends for others. */
#ifndef CLUSTER_CORE_SWIM_RELAYS_H
#define CLUSTER_CORE_SWIM_RELAYS_H

#include <stdint.h>

#define CLUSTER_RELAYS_MAX 64 /* at once; who asks beyond them hears nothing */

struct cluster_relay {
    uint32_t asker, target;
    uint32_t asked;    /* the asker's number of its probe */
    uint32_t sequence; /* ours; 0: the relay is free */
    uint64_t timer;    /* for the NACK */
};

struct cluster_relays {
    struct cluster_relay all[CLUSTER_RELAYS_MAX];
};

/* Takes a free one. NULL: there is none. */
struct cluster_relay *cluster_relays_take(struct cluster_relays *relays, uint32_t sequence);

/* Returns the one with this number for this target, or NULL. */
struct cluster_relay *cluster_relays_find(struct cluster_relays *relays, uint32_t sequence,
                                          uint32_t target);

#endif
