/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/orders.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"

struct row {
    uint64_t number, operation;
    bool waits; /* for the end of the operation; else until it is durable */
};

struct cluster_orders {
    struct cluster_table rows;
};

int cluster_orders_create(struct cluster_orders **out)
{
    *out = calloc(1, sizeof **out);
    if (*out && cluster_table_init(&(*out)->rows, CLUSTER_ORDERS_MAX, sizeof(struct row)) == 0)
        return 0;
    cluster_orders_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for orders");
}

void cluster_orders_release(struct cluster_orders **orders)
{
    if (*orders)
        cluster_table_fini(&(*orders)->rows);
    free(*orders);
    *orders = NULL;
}

uint32_t cluster_orders_count(const struct cluster_orders *orders)
{
    return orders->rows.count;
}

static uint32_t find(const struct cluster_orders *orders, uint64_t number)
{
    uint32_t place = cluster_table_after(&orders->rows, 0);

    while (place != 0 &&
           ((const struct row *)cluster_table_at(&orders->rows, place))->number != number)
        place = cluster_table_after(&orders->rows, place);
    return place;
}

int cluster_orders_check(const struct cluster_orders *orders, const struct cluster_context *context,
                         uint64_t number)
{
    if (find(orders, number) != 0)
        return rapahub_fail(RAPAHUB_EEXIST, "cluster.orders.once",
                            "an order with this number is open");
    if (orders->rows.count == orders->rows.max || cluster_effects_space(context->effects) == 0)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.orders.bounds", "at most %u orders are open",
                            CLUSTER_ORDERS_MAX);
    return 0;
}

/* r[impl cluster.orders.bounds] */
void cluster_orders_begin(struct cluster_orders *orders, struct cluster_context *context,
                          const struct cluster_orders_order *order, uint64_t operation)
{
    uint32_t place = cluster_table_take(&orders->rows);

    *(struct row *)cluster_table_at(&orders->rows, place) =
        (struct row){order->number, operation, order->kind == CLUSTER_ORDER_WAIT};
    cluster_effects_reserve(context->effects, 1);
}

/* ---- ends ---- */

static void tell(struct cluster_context *context, uint64_t number, uint64_t operation,
                 int32_t status, const char *text)
{
    uint8_t body[sizeof operation];
    struct cluster_effect effect = {.kind = CLUSTER_EFFECT_ORDERED,
                                    .number = number,
                                    .status = status,
                                    .body = {body, sizeof body},
                                    .text = {text, strlen(text)}};

    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (uint8_t)(operation >> (8 * i));
    if (effect.text.size > CLUSTER_OPERATIONS_TEXT_MAX)
        effect.text.size = CLUSTER_OPERATIONS_TEXT_MAX;
    cluster_effects_add(context->effects, &effect);
}

/* r[impl cluster.orders.once] */
static void end(struct cluster_orders *orders, struct cluster_context *context, uint32_t place,
                int32_t status, const char *text)
{
    const struct row row = *(const struct row *)cluster_table_at(&orders->rows, place);

    cluster_table_give(&orders->rows, place);
    cluster_effects_unreserve(context->effects, 1);
    tell(context, row.number, row.operation, status, text);
}

void cluster_orders_end_at_once(struct cluster_context *context, uint64_t number,
                                uint64_t operation)
{
    tell(context, number, operation, 0, "");
}

int cluster_orders_cancel(struct cluster_orders *orders, struct cluster_context *context,
                          uint64_t number)
{
    uint32_t place = find(orders, number);

    if (place == 0)
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.orders.once",
                            "no order with this number is open");
    end(orders, context, place, RAPAHUB_ECANCELED, "nobody waits for it; what it began goes on");
    return 0;
}

/* r[impl cluster.orders.wait] */
void cluster_orders_settle(struct cluster_orders *orders, struct cluster_context *context,
                           const struct cluster_operations *operations)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&orders->rows, place)) != 0) {
        const struct row *row = cluster_table_at(&orders->rows, place);
        uint32_t at = cluster_operations_find(operations, row->operation);
        const struct cluster_operations_row *operation =
            at != 0 ? cluster_operations_at(operations, at) : NULL;

        if ((row->operation & CLUSTER_RECOVERIES_ORDER) != 0)
            continue;
        if (!operation)
            end(orders, context, place, RAPAHUB_ENOENT, "its operation is not known any more");
        else if (row->waits && cluster_operations_has_ended(operation))
            end(orders, context, place, operation->result, operation->text);
        else if (!row->waits && operation->revision != 0)
            end(orders, context, place, 0, "");
    }
}

void cluster_orders_end_all(struct cluster_orders *orders, struct cluster_context *context,
                            uint64_t operation, int32_t status, const char *text)
{
    uint32_t place = 0;

    while ((place = cluster_table_after(&orders->rows, place)) != 0) {
        const struct row *row = cluster_table_at(&orders->rows, place);

        if (operation == 0 || row->operation == operation)
            end(orders, context, place, status, text);
    }
}
