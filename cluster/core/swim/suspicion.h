/* SPDX-License-Identifier: Apache-2.0 */
/* suspicion: how long a suspected member has to refute. The more members confirm that it does not
 * answer, the sooner it is held for dead.
 */
#ifndef CLUSTER_CORE_SWIM_SUSPICION_H
#define CLUSTER_CORE_SWIM_SUSPICION_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/swim/members.h"

struct cluster_suspicion_rule {
    uint64_t period_ns;
    uint32_t alpha;
    uint64_t fixed_ns; /* 0: by the number of members and of those who confirm it */
};

/* Returns the base-2 logarithm of `number`, above 0, in 1/65536. */
uint32_t cluster_suspicion_log2(uint32_t number);

/* Returns factor * log10(number + add) rounded up: how often news is sent, and the like. */
uint32_t cluster_suspicion_log10_up(uint32_t number, uint32_t factor);

/* Returns how long a suspicion lasts that `confirmations` others confirm, among `present` members.
 */
uint64_t cluster_suspicion_span(const struct cluster_suspicion_rule *rule, uint32_t present,
                                uint32_t confirmations);

/* Notes who suspects the member. False: it is known already, or there are enough. */
bool cluster_suspicion_accuse(struct cluster_member *member, uint32_t accuser);

#endif
