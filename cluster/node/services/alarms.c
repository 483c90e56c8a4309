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

/* r[impl cluster.recover.silent] */
static void say_silent(const struct cluster_lists *lists, uint32_t node,
                       struct cluster_alarms_alarm *out)
{
    struct cluster_detector_verdict verdict;
    uint32_t count = count_owned(cluster_core_parts(lists->core), node);

    if (count == 0 || !cluster_detector_verdict(lists->detector, node, &verdict) ||
        strcmp(verdict.word, "dead") != 0)
        return;
    out->name = "EPROOF";
    snprintf(out->text, sizeof out->text,
             "it is silent, and nothing proves that it is dead: its %" PRIu32
             " containers stay where they are; if its machine is off, type `rapahub node dead "
             "%" PRIu32 " --yes`",
             count, node);
}

/* r[impl cluster.recover.local] */
static void say_waiting(const struct cluster_recovery *recovery, struct cluster_alarms_alarm *out)
{
    if (recovery->waiting > 0) {
        out->name = "ENOCOPY";
        snprintf(out->text, sizeof out->text,
                 "only its disk has what %" PRIu32
                 " containers have kept, and they wait for it: start it again, or, to begin them "
                 "without that, type `rapahub node dead %" PRIu32 " --discard --yes`",
                 recovery->waiting, recovery->node);
    } else if (recovery->without > 0) {
        out->name = "EPLACE";
        snprintf(out->text, sizeof out->text,
                 "no other node may have %" PRIu32
                 " of its containers: start it again, or other nodes that their pools name",
                 recovery->without);
    }
}

void cluster_alarms_of_node(const struct cluster_lists *lists, uint32_t node, uint64_t session,
                            struct cluster_alarms_alarm *out)
{
    const struct cluster_dispatch *core = cluster_core_parts(lists->core);
    const struct cluster_recovery *recovery =
        cluster_recoveries_find(cluster_ops_context(core->ops)->recoveries, node);

    out->name = NULL;
    if (session != 0)
        say_silent(lists, node, out);
    else if (recovery)
        say_waiting(recovery, out);
}
