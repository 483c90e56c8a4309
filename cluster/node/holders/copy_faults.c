/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/copy_faults.h"

#include <inttypes.h>
#include <stdio.h>

static uint32_t place_of(const struct cluster_copy_faults *faults, uint32_t node)
{
    uint32_t at = 0;

    while (at < faults->count && faults->of[at].node != node)
        at++;
    return at;
}

/* r[impl cluster.copy.faults] */
void cluster_copy_faults_add(struct cluster_copy_faults *faults, uint32_t node, uint32_t weight,
                             int status, const char *text)
{
    uint32_t at = place_of(faults, node);

    if (at == CLUSTER_RECORD_HOLDERS_MAX)
        at = 0;
    if (at == faults->count)
        faults->count++;
    if (faults->of[at].node != node)
        faults->of[at].faults = 0;
    faults->of[at].node = node;
    faults->of[at].faults += weight;
    faults->status = status;
    snprintf(faults->text, sizeof faults->text, "the copy of node %" PRIu32 ": %s", node, text);
}

bool cluster_copy_faults_leave_out(const struct cluster_copy_faults *faults, uint32_t node)
{
    uint32_t at = place_of(faults, node);

    return at < faults->count && faults->of[at].faults >= CLUSTER_COPY_FAULTS_MAX;
}

void cluster_copy_faults_list_away(const struct cluster_sealed *sealed, uint32_t count,
                                   char text[CLUSTER_COPY_FAULTS_TEXT_MAX])
{
    size_t most = CLUSTER_COPY_FAULTS_TEXT_MAX,
           size = (size_t)snprintf(text, most, "no holder of its copies could be reached in time");

    for (uint32_t i = 0; i < count && size < most; i++)
        size += (size_t)snprintf(text + size, most - size, "%s node %" PRIu32, i == 0 ? ":" : ",",
                                 sealed[i].node);
}
