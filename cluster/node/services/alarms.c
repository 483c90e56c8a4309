/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/alarms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/core/dispatch.h"

static uint32_t count_owned(const struct cluster_dispatch *core, uint32_t node)
{
    const struct cluster_address *address;
    uint32_t place = 0, count = 0;

    while ((address = cluster_address_map_after(core->map, &place)))
        count += address->entry.owner == node;
    return count;
}

/* Nothing has proven that it is dead, so nothing moves. r[impl cluster.recover.silent] */
static bool say_silent(const struct cluster_lists *lists, uint32_t node,
                       char to[CLUSTER_ALARMS_SIZE])
{
    struct cluster_detector_verdict verdict;
    uint32_t count = count_owned(cluster_core_parts(lists->core), node);

    if (count == 0 || !cluster_detector_verdict(lists->detector, node, &verdict) ||
        strcmp(verdict.word, "dead") != 0)
        return false;
    snprintf(to, CLUSTER_ALARMS_SIZE,
             "EPROOF: node %" PRIu32 " is silent, and nothing proves that it is dead: its %" PRIu32
             " containers stay where they are; if its machine is off, type `rapahub node dead "
             "%" PRIu32 " --yes`",
             node, count, node);
    return true;
}

/* r[impl cluster.recover.local] */
static bool say_waiting(const struct cluster_recovery *recovery, char to[CLUSTER_ALARMS_SIZE])
{
    if (recovery->waiting > 0)
        snprintf(to, CLUSTER_ALARMS_SIZE,
                 "ENOCOPY: what %" PRIu32 " containers have kept is on the disk of node %" PRIu32
                 " alone, and they wait for it: start it again, or, to begin them without that, "
                 "type `rapahub node dead %" PRIu32 " --discard --yes`",
                 recovery->waiting, recovery->node, recovery->node);
    else if (recovery->without > 0)
        snprintf(to, CLUSTER_ALARMS_SIZE,
                 "EPLACE: no other node may have %" PRIu32 " containers of node %" PRIu32
                 ": start it again, or nodes that the pools name",
                 recovery->without, recovery->node);
    else
        return false;
    return true;
}

bool cluster_alarms_of_node(const struct cluster_lists *lists, uint32_t node, uint64_t session,
                            char to[CLUSTER_ALARMS_SIZE])
{
    const struct cluster_dispatch *core = cluster_core_parts(lists->core);
    const struct cluster_recovery *recovery =
        cluster_recoveries_find(cluster_ops_recoveries(core->ops), node);

    if (session != 0)
        return say_silent(lists, node, to);
    return recovery && say_waiting(recovery, to);
}
