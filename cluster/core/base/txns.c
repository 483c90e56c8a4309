/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/txns.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"
#include "hub/base/check.h"
#include "hub/base/memory.h"

struct row {
    struct cluster_txn txn;
    struct cluster_compare compares[CLUSTER_TXN_LIST_MAX];
    struct cluster_write then[CLUSTER_TXN_LIST_MAX];
    struct hub_writer writer;
    int failure; /* the first */
    uint8_t bytes[CLUSTER_TXNS_BYTES_MAX];
};

struct cluster_txns {
    struct cluster_table places; /* a byte each; a row is too large to be zeroed */
    struct row *rows;            /* a page that was never used occupies nothing */
};

int cluster_txns_create(uint32_t max, struct cluster_txns **out)
{
    struct cluster_txns *txns = calloc(1, sizeof *txns);

    CHECK(max > 0 && max <= CLUSTER_TXN_FLIGHT_MAX);
    *out = txns;
    if (txns && cluster_table_init(&txns->places, max, 1) == 0 &&
        (txns->rows = hub_memory_sparse(max * sizeof *txns->rows)))
        return 0;
    cluster_txns_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u transactions", max);
}

void cluster_txns_release(struct cluster_txns **txns)
{
    if (*txns) {
        if ((*txns)->rows)
            hub_memory_free_sparse((*txns)->rows, (*txns)->places.max * sizeof *(*txns)->rows);
        cluster_table_fini(&(*txns)->places);
    }
    free(*txns);
    *txns = NULL;
}

uint32_t cluster_txns_take(struct cluster_txns *txns)
{
    uint32_t place = cluster_table_take(&txns->places);
    struct row *row;

    if (place == 0)
        return 0;
    row = &txns->rows[place - 1];
    row->txn = (struct cluster_txn){.compares = row->compares, .then = row->then};
    row->failure = 0;
    hub_writer_init(&row->writer, row->bytes, sizeof row->bytes);
    return place;
}

void cluster_txns_give(struct cluster_txns *txns, uint32_t place)
{
    cluster_table_give(&txns->places, place);
}

static struct row *row_at(const struct cluster_txns *txns, uint32_t place)
{
    CHECK(cluster_table_has(&txns->places, place));
    return &txns->rows[place - 1];
}

static void note(struct row *row, int status)
{
    if (row->failure == 0)
        row->failure = status;
}

/* ---- pieces ---- */

static struct rapahub_bytes written(const struct row *row, size_t from)
{
    return (struct rapahub_bytes){row->bytes + from, row->writer.size - from};
}

static struct rapahub_bytes put_key(struct row *row, const struct cluster_key *key)
{
    char text[CLUSTER_KEYS_SIZE_MAX];
    size_t from = row->writer.size;
    int size = cluster_keys_build(key, text);

    if (size < 0)
        note(row, size);
    else
        hub_writer_put(&row->writer, text, (size_t)size);
    return written(row, from);
}

static void compare(struct row *row, const struct cluster_key *key, enum cluster_compare_kind kind,
                    uint64_t revision)
{
    if (row->txn.compares_count == CLUSTER_TXN_LIST_MAX) {
        note(row, RAPAHUB_EMSGSIZE);
        return;
    }
    row->compares[row->txn.compares_count++] =
        (struct cluster_compare){.kind = kind, .key = put_key(row, key), .rev = revision};
}

void cluster_txns_expect(struct cluster_txns *txns, uint32_t place, const struct cluster_key *key,
                         uint64_t revision)
{
    compare(row_at(txns, place), key, revision == 0 ? CLUSTER_ABSENT : CLUSTER_MOD_EQ, revision);
}

void cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                 const struct cluster_key *key, uint64_t revision)
{
    compare(row_at(txns, place), key, CLUSTER_CREATE_EQ, revision);
}

/* Returns a place in the list; NULL: it is full. */
static struct cluster_write *add_write(struct row *row, const struct cluster_key *key,
                                       enum cluster_write_kind kind)
{
    struct cluster_write *write = &row->then[row->txn.then_count];

    if (row->txn.then_count == CLUSTER_TXN_LIST_MAX) {
        note(row, RAPAHUB_EMSGSIZE);
        return NULL;
    }
    row->txn.then_count++;
    *write = (struct cluster_write){.kind = kind, .key = put_key(row, key)};
    return write;
}

void cluster_txns_put(struct cluster_txns *txns, uint32_t place, const struct cluster_key *key,
                      struct rapahub_bytes value)
{
    struct row *row = row_at(txns, place);
    struct cluster_write *write = add_write(row, key, CLUSTER_PUT);
    size_t from = row->writer.size;

    if (!write)
        return;
    hub_writer_put(&row->writer, value.data, value.size);
    write->value = written(row, from);
}

void cluster_txns_put_record(struct cluster_txns *txns, uint32_t place,
                             const struct cluster_key *key, const struct cluster_record *record)
{
    struct row *row = row_at(txns, place);
    struct cluster_write *write = add_write(row, key, CLUSTER_PUT);
    size_t from = row->writer.size;
    int status;

    if (!write)
        return;
    status = cluster_record_put(&row->writer, key->kind, record);
    if (status < 0)
        note(row, status);
    write->value = written(row, from);
}

void cluster_txns_delete(struct cluster_txns *txns, uint32_t place, const struct cluster_key *key)
{
    (void)add_write(row_at(txns, place), key, CLUSTER_DELETE);
}

int cluster_txns_end(struct cluster_txns *txns, uint32_t place, const struct cluster_txn **out)
{
    struct row *row = row_at(txns, place);

    *out = &row->txn;
    note(row, row->writer.failure);
    for (uint32_t i = 0; i < row->txn.then_count; i++)
        if (row->then[i].value.size > CLUSTER_TXN_VALUE_MAX)
            note(row, RAPAHUB_EMSGSIZE);
    if (row->failure == RAPAHUB_EMSGSIZE)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "",
                            "a transaction has more than the metastore takes");
    return row->failure;
}
