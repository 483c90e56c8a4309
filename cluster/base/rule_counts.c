/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/rule_counts.h"

#include <string.h>

void cluster_rule_counts_add(struct cluster_rule_counts *counts, const char *rule)
{
    uint32_t i = 0;

    if (!rule[0])
        return;
    while (i < counts->count && strcmp(counts->all[i].rule, rule) != 0)
        i++;
    if (i == CLUSTER_RULE_COUNTS_MAX)
        return;
    counts->all[i].rule = rule;
    counts->all[i].times++;
    if (i == counts->count)
        counts->count++;
}
