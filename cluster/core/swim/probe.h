/* SPDX-License-Identifier: Apache-2.0 */
/* probe: one member after another is asked whether it lives: by itself, then by way of others and
 * over the link to it. Also the probes that others want of this node.
 */
#ifndef CLUSTER_CORE_SWIM_PROBE_H
#define CLUSTER_CORE_SWIM_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/swim/probe_order.h"
#include "cluster/core/swim/relays.h"
#include "cluster/core/swim/swim_outputs.h"
#include "cluster/core/swim/verdicts.h"

#define CLUSTER_PROBE_HELPERS 3

struct cluster_probe_rule {
    uint64_t period_ns;
    uint64_t direct_ns;   /* 0: half a period, or more where answers take long */
    uint64_t indirect_ns; /* 0: the rest of the period */
};

struct cluster_probes {
    struct cluster_verdicts *verdicts;
    struct cluster_swim_outputs *outputs;
    struct hub_random *random;
    struct cluster_probe_rule rule;
    struct cluster_probe_order order;
    struct cluster_relays relays;
    uint32_t sequence; /* the last one that was used */
    /* the probe under way */
    bool open, over_due; /* over_due: the next one is to begin when it ends */
    uint32_t target, number;
    uint32_t helpers[CLUSTER_PROBE_HELPERS], helpers_count, nacks;
    bool nacked[CLUSTER_PROBE_HELPERS];
    uint64_t begun_ns, timer;
    uint64_t round_trip_ns;                  /* nearly all answers take at most this */
    uint64_t begun, failed_directly, failed; /* figures */
};

/* Begins the next probe; another one in a period. */
void cluster_probe_begin(struct cluster_probes *probes, uint64_t now_ns);

/* The period is over. */
void cluster_probe_period(struct cluster_probes *probes, uint64_t now_ns);

/* The target has not answered by itself, and not in any other way. */
void cluster_probe_ask_others(struct cluster_probes *probes, uint64_t now_ns);
void cluster_probe_fail(struct cluster_probes *probes, uint64_t now_ns);

/* A datagram of another member. */
void cluster_probe_hear(struct cluster_probes *probes, uint64_t now_ns, uint32_t from,
                        const struct cluster_datagram *datagram);

/* The target answered over the link to it. */
void cluster_probe_link_answered(struct cluster_probes *probes, uint64_t now_ns, uint32_t node,
                                 uint32_t sequence);

/* The time of a relay has come. */
void cluster_probe_relay_due(struct cluster_probes *probes, uint64_t now_ns, uint32_t relay);

#endif
