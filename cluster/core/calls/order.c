/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/order.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"

struct row {
    struct cluster_order_key key;
    uint64_t last; /* number of the last call */
};

struct cluster_order {
    struct cluster_table rows;
    struct cluster_index index;
};

int cluster_order_create(uint32_t max, uint64_t secret, struct cluster_order **out)
{
    struct cluster_order *order = calloc(1, sizeof *order);

    *out = order;
    if (order && cluster_table_init(&order->rows, max, sizeof(struct row)) == 0 &&
        cluster_index_init(&order->index, max, secret) == 0)
        return 0;
    cluster_order_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u orders", max);
}

void cluster_order_release(struct cluster_order **order)
{
    if (*order) {
        cluster_index_fini(&(*order)->index);
        cluster_table_fini(&(*order)->rows);
    }
    free(*order);
    *order = NULL;
}

static uint32_t hash_of(const struct cluster_order *order, const struct cluster_order_key *key)
{
    return cluster_index_hash(&order->index, key->pool, key->origin,
                              (uint64_t)key->container << 32 | key->order);
}

static uint32_t seek(const struct cluster_order *order, const struct cluster_order_key *key)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&order->index, hash_of(order, key), &cursor);

    for (; place != 0; place = cluster_index_next(&order->index, &cursor)) {
        const struct row *row = cluster_table_at(&order->rows, place);

        if (row->key.pool == key->pool && row->key.origin == key->origin &&
            row->key.container == key->container && row->key.order == key->order)
            break;
    }
    return place;
}

static struct row *add(struct cluster_order *order, const struct cluster_order_key *key)
{
    uint32_t place = cluster_table_take(&order->rows);
    struct row *row = place != 0 ? cluster_table_at(&order->rows, place) : NULL;

    if (row) {
        row->key = *key;
        cluster_index_put(&order->index, hash_of(order, key), place);
    }
    return row;
}

static void remove_at(struct cluster_order *order, uint32_t place)
{
    const struct row *row = cluster_table_at(&order->rows, place);

    cluster_index_remove(&order->index, hash_of(order, &row->key), place);
    cluster_table_give(&order->rows, place);
}

int cluster_order_submit(struct cluster_order *order, const struct cluster_order_key *key,
                         uint64_t number, uint64_t *previous)
{
    uint32_t place = seek(order, key);
    struct row *row = place != 0 ? cluster_table_at(&order->rows, place) : add(order, key);

    if (!row)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.order.bounds", "at most %u orders are open",
                            order->rows.max);
    if (number <= row->last)
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.order.admit",
                            "a later call of the same order was there before");
    *previous = row->last;
    row->last = number;
    return 0;
}

void cluster_order_end(struct cluster_order *order, const struct cluster_order_key *key,
                       uint64_t number)
{
    uint32_t place = seek(order, key);

    if (place != 0 && ((const struct row *)cluster_table_at(&order->rows, place))->last == number)
        remove_at(order, place);
}

bool cluster_order_may(const struct cluster_order *order, const struct cluster_order_key *key,
                       uint64_t previous, uint64_t done_below)
{
    uint32_t place;

    if (previous == 0 || previous < done_below)
        return true;
    place = seek(order, key);
    return place != 0 &&
           ((const struct row *)cluster_table_at(&order->rows, place))->last >= previous;
}

void cluster_order_forget(struct cluster_order *order, uint64_t pool, uint32_t container,
                          uint64_t origin)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&order->rows, place)) != 0) {
        const struct row *row = cluster_table_at(&order->rows, place);

        if (row->key.pool == pool && row->key.container == container &&
            (origin == 0 || row->key.origin == origin))
            remove_at(order, place);
    }
}

uint32_t cluster_order_count(const struct cluster_order *order)
{
    return order->rows.count;
}
