/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/nodes/recoveries.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"
#include "hub/base/check.h"

struct cluster_recoveries {
    struct cluster_table rows;
};

int cluster_recoveries_create(uint32_t nodes, struct cluster_recoveries **out)
{
    *out = calloc(1, sizeof **out);
    if (*out && cluster_table_init(&(*out)->rows, nodes, sizeof(struct cluster_recovery)) == 0)
        return 0;
    cluster_recoveries_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for recoveries of %u nodes", nodes);
}

void cluster_recoveries_release(struct cluster_recoveries **recoveries)
{
    if (*recoveries)
        cluster_table_fini(&(*recoveries)->rows);
    free(*recoveries);
    *recoveries = NULL;
}

struct cluster_recovery *cluster_recoveries_at(const struct cluster_recoveries *recoveries,
                                               uint32_t place)
{
    return cluster_table_at(&recoveries->rows, place);
}

struct cluster_recovery *cluster_recoveries_after(const struct cluster_recoveries *recoveries,
                                                  uint32_t *place)
{
    *place = cluster_table_after(&recoveries->rows, *place);
    return *place != 0 ? cluster_table_at(&recoveries->rows, *place) : NULL;
}

struct cluster_recovery *cluster_recoveries_find(const struct cluster_recoveries *recoveries,
                                                 uint32_t node)
{
    struct cluster_recovery *row;
    uint32_t place = 0;

    do
        row = cluster_recoveries_after(recoveries, &place);
    while (row && row->node != node);
    return row;
}

static struct cluster_recovery *add(struct cluster_recoveries *recoveries, uint32_t node)
{
    uint32_t place = cluster_table_take(&recoveries->rows);
    struct cluster_recovery *row = place != 0 ? cluster_table_at(&recoveries->rows, place) : NULL;

    if (row)
        *row = (struct cluster_recovery){.node = node, .place = place};
    return row;
}

/* The record of before goes with the transaction that writes the new one. */
static void begin_anew(struct cluster_recovery *row, uint64_t session, uint8_t proof)
{
    *row = (struct cluster_recovery){.node = row->node,
                                     .place = row->place,
                                     .session = session,
                                     .is = {.proof = proof},
                                     .before = row->revision != 0 ? row->session : row->before,
                                     .before_revision =
                                         row->revision != 0 ? row->revision : row->before_revision};
}

/* r[impl cluster.recover.proof] */
struct cluster_recovery *cluster_recoveries_note(struct cluster_recoveries *recoveries,
                                                 uint32_t node, uint64_t session, uint8_t proof)
{
    struct cluster_recovery *row = cluster_recoveries_find(recoveries, node);

    if (!row)
        row = add(recoveries, node);
    if (!row)
        return NULL;
    if (session > row->session) {
        begin_anew(row, session, proof);
    } else if (proof > row->is.proof) {
        row->is.proof = proof;
    }
    return row;
}

bool cluster_recoveries_is_stored(const struct cluster_recovery *recovery)
{
    return recovery->revision != 0 && recovery->is.proof == recovery->stored.proof &&
           recovery->is.discard == recovery->stored.discard;
}

/* r[impl cluster.recover.resume] */
int cluster_recoveries_put(struct cluster_recoveries *recoveries, const struct cluster_key *key,
                           uint64_t revision, const struct cluster_record_operation *record)
{
    struct cluster_recovery *row = cluster_recoveries_find(recoveries, key->node);
    struct cluster_operation_recovery arguments;
    int status;

    if (row && (row->revision >= revision || row->session > key->revision))
        return 0;
    if (record->kind != CLUSTER_OPERATION_RECOVER || record->step != CLUSTER_OPERATION_BEGINNING)
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.operation.states",
                            "a recovery that cannot be");
    status = cluster_operation_read_recovery(record->arguments, &arguments);
    if (status < 0)
        return status;
    if (!row)
        row = add(recoveries, key->node);
    if (!row)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                            "there are more recoveries than nodes");
    row->session = key->revision;
    row->revision = revision;
    row->is = row->stored = arguments;
    return 0;
}

void cluster_recoveries_remove(struct cluster_recoveries *recoveries, uint32_t place)
{
    cluster_table_give(&recoveries->rows, place);
}

void cluster_recoveries_clear(struct cluster_recoveries *recoveries)
{
    uint32_t place;

    while ((place = cluster_table_after(&recoveries->rows, 0)) != 0)
        cluster_recoveries_remove(recoveries, place);
}

struct cluster_record_operation cluster_recoveries_record(
    struct cluster_recovery *recovery, uint8_t arguments[CLUSTER_RECOVERIES_ARGUMENTS])
{
    struct hub_writer writer;

    recovery->sent = recovery->is;
    hub_writer_init(&writer, arguments, CLUSTER_RECOVERIES_ARGUMENTS);
    ENSURE(cluster_operation_put_recovery(&writer, &recovery->sent) == 0);
    return (struct cluster_record_operation){.kind = CLUSTER_OPERATION_RECOVER,
                                             .step = CLUSTER_OPERATION_BEGINNING,
                                             .arguments = {arguments, writer.size}};
}

void cluster_recoveries_written(struct cluster_recovery *recovery, uint64_t session,
                                uint64_t revision)
{
    if (recovery->session != session) {
        recovery->before = revision != 0 ? session : 0;
        recovery->before_revision = revision;
        return;
    }
    recovery->revision = revision;
    recovery->stored = recovery->sent;
    recovery->before = recovery->before_revision = 0;
}
