/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/swim_outputs.h"

void cluster_swim_outputs_add(struct cluster_swim_outputs *outputs,
                              const struct cluster_swim_sent *sent)
{
    if (outputs->count == CLUSTER_SWIM_OUTPUTS_MAX) {
        outputs->lost++;
        return;
    }
    outputs->all[(outputs->first + outputs->count++) % CLUSTER_SWIM_OUTPUTS_MAX] = *sent;
}

bool cluster_swim_outputs_take(struct cluster_swim_outputs *outputs, struct cluster_swim_sent *out)
{
    if (outputs->count == 0)
        return false;
    *out = outputs->all[outputs->first];
    outputs->first = (outputs->first + 1) % CLUSTER_SWIM_OUTPUTS_MAX;
    outputs->count--;
    return true;
}
