/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/operation.h"

#include "cluster/base/ids.h"
#include "cluster/base/keys.h"
#include "cluster/wire/format.h"

#define DONE    HUB_TO(CLUSTER_OPERATION_DONE)
#define ABORTED HUB_TO(CLUSTER_OPERATION_ABORTED)
#define UNDOING HUB_TO(CLUSTER_OPERATION_UNDOING)

/* A pool that is deleted while it is created ends its creation. */
const struct hub_states cluster_operation_states = {
    "cluster.operation",
    {[CLUSTER_OPERATION_NEW] = {"NEW", HUB_TO(CLUSTER_OPERATION_PLACING) |
                                           HUB_TO(CLUSTER_OPERATION_BEGINNING) |
                                           HUB_TO(CLUSTER_OPERATION_REMOVING)},
     [CLUSTER_OPERATION_PLACING] = {"PLACING",
                                    HUB_TO(CLUSTER_OPERATION_BEGINNING) | UNDOING | ABORTED},
     [CLUSTER_OPERATION_BEGINNING] = {"BEGINNING", DONE | UNDOING | ABORTED},
     [CLUSTER_OPERATION_UNDOING] = {"UNDOING", ABORTED},
     [CLUSTER_OPERATION_REMOVING] = {"REMOVING", DONE},
     [CLUSTER_OPERATION_DONE] = {"DONE", 0},
     [CLUSTER_OPERATION_ABORTED] = {"ABORTED", 0}}};

RAPAHUB_RECORD(cluster_operation_arguments, RAPAHUB_MEMBER(cluster_operation_arguments, pool, u64),
               RAPAHUB_MEMBER(cluster_operation_arguments, container, u32),
               RAPAHUB_MEMBER(cluster_operation_arguments, name, string));

RAPAHUB_RECORD(cluster_operation_recovery, RAPAHUB_MEMBER(cluster_operation_recovery, proof, u8),
               RAPAHUB_MEMBER(cluster_operation_recovery, discard, bool));

static const char *why_not_arguments(const void *value)
{
    const struct cluster_operation_arguments *arguments = value;

    if (!cluster_ids_is_pool(arguments->pool) || !cluster_ids_is_container(arguments->container))
        return "no pool has this number, or no container";
    return cluster_keys_is_name(arguments->name) ? NULL : "its name is no name of a pool";
}

static const struct cluster_format format = {"the arguments of an operation",
                                             &rapahub_type_cluster_operation_arguments,
                                             {{0}},
                                             why_not_arguments};

int cluster_operation_put(struct hub_writer *writer,
                          const struct cluster_operation_arguments *arguments)
{
    return cluster_format_put(writer, &format, arguments);
}

int cluster_operation_read(struct rapahub_bytes from, struct cluster_operation_arguments *out)
{
    return cluster_format_read(&format, from, out);
}

static const char *why_not_recovery(const void *value)
{
    const struct cluster_operation_recovery *recovery = value;

    return recovery->proof > 0 && recovery->proof < CLUSTER_PROOFS ? NULL : "its proof is unknown";
}

static const struct cluster_format recovery_format = {"the arguments of a recovery",
                                                      &rapahub_type_cluster_operation_recovery,
                                                      {{0}},
                                                      why_not_recovery};

int cluster_operation_put_recovery(struct hub_writer *writer,
                                   const struct cluster_operation_recovery *recovery)
{
    return cluster_format_put(writer, &recovery_format, recovery);
}

int cluster_operation_read_recovery(struct rapahub_bytes from,
                                    struct cluster_operation_recovery *out)
{
    return cluster_format_read(&recovery_format, from, out);
}
