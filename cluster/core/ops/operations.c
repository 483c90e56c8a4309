/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/operations.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"
#include "hub/base/check.h"
#include "hub/base/printable.h"

struct cluster_operations {
    struct cluster_table rows;
    uint64_t highest; /* number */
};

int cluster_operations_create(struct cluster_operations **out)
{
    *out = calloc(1, sizeof **out);
    if (*out && cluster_table_init(&(*out)->rows, CLUSTER_OPERATIONS_MAX + CLUSTER_OPERATIONS_SPARE,
                                   sizeof(struct cluster_operations_row)) == 0)
        return 0;
    cluster_operations_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the operations of a node");
}

void cluster_operations_release(struct cluster_operations **operations)
{
    if (*operations)
        cluster_table_fini(&(*operations)->rows);
    free(*operations);
    *operations = NULL;
}

static void copy_text(char *to, size_t most, struct rapahub_string from)
{
    size_t size = from.size < most ? from.size : most;

    if (size > 0)
        memcpy(to, from.data, size);
    to[size] = 0;
    hub_printable_mend(to);
}

uint32_t cluster_operations_add(struct cluster_operations *operations, uint8_t kind, uint64_t pool,
                                uint32_t container, const char *name)
{
    uint32_t place = cluster_table_take(&operations->rows);
    struct cluster_operations_row *row;

    if (place == 0)
        return 0;
    row = cluster_table_at(&operations->rows, place);
    row->number = ++operations->highest;
    row->kind = kind;
    row->pool = pool;
    row->container = container;
    copy_text(row->name, CLUSTER_KEYS_NAME_MAX, (struct rapahub_string){name, strlen(name)});
    return place;
}

/* ---- from the metastore ---- */

static bool can_be(uint64_t number, const struct cluster_record_operation *record)
{
    return number > 0 && record->kind > 0 && record->kind < CLUSTER_OPERATION_KINDS &&
           record->step > CLUSTER_OPERATION_NEW && record->step < CLUSTER_OPERATION_STATES;
}

static void set(struct cluster_operations_row *row, uint64_t revision,
                const struct cluster_record_operation *record,
                const struct cluster_operation_arguments *arguments)
{
    row->revision = revision;
    row->kind = record->kind;
    row->state = record->step;
    row->budget_ms = record->budget_ms;
    row->result = record->result;
    row->pool = arguments->pool;
    row->container = arguments->container;
    copy_text(row->name, CLUSTER_KEYS_NAME_MAX, arguments->name);
    copy_text(row->text, CLUSTER_OPERATIONS_TEXT_MAX, record->text);
}

/* r[impl cluster.operation.resume] */
int cluster_operations_put(struct cluster_operations *operations, uint64_t number,
                           uint64_t revision, const struct cluster_record_operation *record)
{
    uint32_t place = cluster_operations_find(operations, number);
    struct cluster_operation_arguments arguments;
    int status;

    if (place != 0 && cluster_operations_at(operations, place)->revision >= revision)
        return 0;
    if (!can_be(number, record))
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.operation.states",
                            "an operation that cannot be");
    status = cluster_operation_read(record->arguments, &arguments);
    if (status < 0)
        return status;
    if (place == 0)
        place = cluster_table_take(&operations->rows);
    if (place == 0)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.operation.bounds",
                            "a node keeps at most %u operations", CLUSTER_OPERATIONS_MAX);
    cluster_operations_at(operations, place)->number = number;
    set(cluster_operations_at(operations, place), revision, record, &arguments);
    if (number > operations->highest)
        operations->highest = number;
    return 0;
}

void cluster_operations_remove(struct cluster_operations *operations, uint32_t place)
{
    cluster_table_give(&operations->rows, place);
}

/* ---- looking for them ---- */

struct cluster_operations_row *cluster_operations_at(const struct cluster_operations *operations,
                                                     uint32_t place)
{
    return cluster_table_at(&operations->rows, place);
}

uint32_t cluster_operations_after(const struct cluster_operations *operations, uint32_t place)
{
    return cluster_table_after(&operations->rows, place);
}

uint32_t cluster_operations_find(const struct cluster_operations *operations, uint64_t number)
{
    uint32_t place = cluster_operations_after(operations, 0);

    while (place != 0 && cluster_operations_at(operations, place)->number != number)
        place = cluster_operations_after(operations, place);
    return place;
}

bool cluster_operations_has_ended(const struct cluster_operations_row *row)
{
    return row->state == CLUSTER_OPERATION_DONE || row->state == CLUSTER_OPERATION_ABORTED;
}

uint32_t cluster_operations_open(const struct cluster_operations *operations, uint8_t kind,
                                 uint64_t pool)
{
    uint32_t place = 0;

    while ((place = cluster_operations_after(operations, place)) != 0) {
        const struct cluster_operations_row *row = cluster_operations_at(operations, place);

        if (row->kind == kind && row->pool == pool && !cluster_operations_has_ended(row))
            break;
    }
    return place;
}

static bool has_name(const struct cluster_operations_row *row, struct rapahub_string name)
{
    return strlen(row->name) == name.size && memcmp(row->name, name.data, name.size) == 0;
}

uint32_t cluster_operations_last(const struct cluster_operations *operations, uint8_t kind,
                                 uint64_t pool, struct rapahub_string name)
{
    uint32_t place = 0, last = 0;

    while ((place = cluster_operations_after(operations, place)) != 0) {
        const struct cluster_operations_row *row = cluster_operations_at(operations, place);

        if (row->kind == kind && (pool == 0 || row->pool == pool) && has_name(row, name) &&
            (last == 0 || row->number > cluster_operations_at(operations, last)->number))
            last = place;
    }
    return last;
}

/* r[impl cluster.operation.bounds] */
uint32_t cluster_operations_surplus(const struct cluster_operations *operations)
{
    uint32_t place = 0, oldest = 0;

    if (operations->rows.count <= CLUSTER_OPERATIONS_MAX)
        return 0;
    while ((place = cluster_operations_after(operations, place)) != 0) {
        const struct cluster_operations_row *row = cluster_operations_at(operations, place);

        if (cluster_operations_has_ended(row) && row->number < operations->highest &&
            (oldest == 0 || row->number < cluster_operations_at(operations, oldest)->number))
            oldest = place;
    }
    return oldest;
}

/* ---- their states ---- */

/* r[impl cluster.operation.states] */
void cluster_operations_move(struct cluster_operations_row *row, uint32_t to, int32_t result,
                             const char *text)
{
    CHECK(hub_states_may(&cluster_operation_states, row->state, to));
    row->state = to;
    row->result = result;
    if (text != row->text)
        copy_text(row->text, CLUSTER_OPERATIONS_TEXT_MAX,
                  (struct rapahub_string){text, strlen(text)});
}

void cluster_operations_note(struct cluster_operations_row *row, const char *text)
{
    if (row->text[0] == 0)
        copy_text(row->text, CLUSTER_OPERATIONS_TEXT_MAX,
                  (struct rapahub_string){text, strlen(text)});
}

struct cluster_record_operation cluster_operations_record(
    const struct cluster_operations_row *row, uint32_t state, int32_t result, const char *text,
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS])
{
    const struct cluster_operation_arguments of = {
        row->pool, row->container, {row->name, strlen(row->name)}};
    struct hub_writer writer;

    hub_writer_init(&writer, arguments, CLUSTER_OPERATIONS_ARGUMENTS);
    ENSURE(cluster_operation_put(&writer, &of) == 0);
    return (struct cluster_record_operation){.kind = row->kind,
                                             .step = (uint8_t)state,
                                             .budget_ms = row->budget_ms,
                                             .result = result,
                                             .arguments = {arguments, writer.size},
                                             .text = {text, strlen(text)}};
}

uint64_t cluster_operations_due(struct cluster_operations_row *row, uint64_t now_ns)
{
    if (row->budget_ms == 0)
        return UINT64_MAX;
    if (row->deadline_ns == 0)
        row->deadline_ns = now_ns + row->budget_ms * UINT64_C(1000000);
    return row->deadline_ns > now_ns && (row->state == CLUSTER_OPERATION_PLACING ||
                                         row->state == CLUSTER_OPERATION_BEGINNING)
               ? row->deadline_ns
               : UINT64_MAX;
}
