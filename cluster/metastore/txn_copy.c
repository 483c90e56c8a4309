/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/txn_copy.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

static size_t size_of_compares(const struct cluster_compare *list, uint32_t count)
{
    size_t size = count * sizeof *list;

    for (uint32_t i = 0; i < count; i++)
        size += list[i].key.size + (list[i].kind == CLUSTER_VALUE_EQ ? list[i].value.size : 0);
    return size;
}

static size_t size_of_list(const struct cluster_write *list, uint32_t count)
{
    size_t size = count * sizeof *list;

    for (uint32_t i = 0; i < count; i++)
        size += list[i].key.size + (list[i].kind == CLUSTER_PUT ? list[i].value.size : 0);
    return size;
}

/* Copies the bytes to `*at`, which goes on. */
static struct rapahub_bytes carve(struct rapahub_bytes bytes, uint8_t **at)
{
    struct rapahub_bytes copy = {*at, bytes.size};

    if (bytes.size > 0)
        memcpy(*at, bytes.data, bytes.size);
    *at += bytes.size;
    return copy;
}

static void copy_compares(const struct cluster_txn *txn, struct cluster_compare *to, uint8_t **at)
{
    for (uint32_t i = 0; i < txn->compares_count; i++) {
        const struct cluster_compare *from = &txn->compares[i];

        to[i] = (struct cluster_compare){.kind = from->kind, .rev = from->rev};
        to[i].key = carve(from->key, at);
        if (from->kind == CLUSTER_VALUE_EQ)
            to[i].value = carve(from->value, at);
    }
}

static void copy_list(const struct cluster_write *list, uint32_t count, struct cluster_write *to,
                      uint8_t **at)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = (struct cluster_write){.kind = list[i].kind};
        to[i].key = carve(list[i].key, at);
        if (list[i].kind == CLUSTER_PUT)
            to[i].value = carve(list[i].value, at);
    }
}

struct cluster_txn *cluster_txn_copy(const struct cluster_txn *txn)
{
    struct cluster_txn *copy =
        malloc(sizeof *copy + size_of_compares(txn->compares, txn->compares_count) +
               size_of_list(txn->then, txn->then_count) +
               size_of_list(txn->otherwise, txn->otherwise_count));
    struct cluster_compare *compares;
    struct cluster_write *then, *otherwise;
    uint8_t *at;

    if (!copy) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "a transaction of the metastore: out of memory");
        return NULL;
    }
    compares = (struct cluster_compare *)(void *)(copy + 1);
    then = (struct cluster_write *)(void *)(compares + txn->compares_count);
    otherwise = then + txn->then_count;
    at = (uint8_t *)(otherwise + txn->otherwise_count);
    *copy = *txn;
    copy->compares = compares;
    copy->then = then;
    copy->otherwise = otherwise;
    copy_compares(txn, compares, &at);
    copy_list(txn->then, txn->then_count, then, &at);
    copy_list(txn->otherwise, txn->otherwise_count, otherwise, &at);
    return copy;
}
