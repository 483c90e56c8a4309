/* SPDX-License-Identifier: Apache-2.0 */
/* rule_counts: how often each rule was broken by the other sides of connections, since the start.
 */
#ifndef CLUSTER_BASE_RULE_COUNTS_H
#define CLUSTER_BASE_RULE_COUNTS_H

#include <stdint.h>

#define CLUSTER_RULE_COUNTS_MAX 32 /* rules; more are not counted */

struct cluster_rule_counts {
    uint32_t count;
    struct {
        const char *rule; /* a constant text */
        uint64_t times;
    } all[CLUSTER_RULE_COUNTS_MAX];
};

/* Counts one more; "" is none. */
void cluster_rule_counts_add(struct cluster_rule_counts *counts, const char *rule);

#endif
