/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/order.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/check.h"

struct row {
    uint64_t number, subject;
    uint32_t line;
    uint32_t next, previous; /* in the order of the numbers */
    bool admitted, waits;
    bool misses; /* it waits for one that is not here */
};

struct line { /* an order; it is there while a call of it is */
    struct cluster_order_key key;
    uint32_t first, last;    /* rows */
    uint32_t open;           /* the first row that was not admitted; 0: all were */
    uint32_t next, previous; /* lines with a call that may be taken */
    uint32_t missing;        /* calls that miss the one before them */
    bool listed;             /* it is one of those */
};

struct cluster_order {
    struct cluster_table rows, lines;
    struct cluster_index index; /* lines by key */
    uint32_t first, last;       /* lines with a call that may be taken */
};

int cluster_order_create(uint32_t max, uint64_t secret, struct cluster_order **out)
{
    struct cluster_order *order = calloc(1, sizeof *order);

    *out = order;
    if (order && cluster_table_init(&order->rows, max, sizeof(struct row)) == 0 &&
        cluster_table_init(&order->lines, max, sizeof(struct line)) == 0 &&
        cluster_index_init(&order->index, max, secret) == 0)
        return 0;
    cluster_order_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u calls with an order", max);
}

void cluster_order_release(struct cluster_order **order)
{
    if (*order) {
        cluster_index_fini(&(*order)->index);
        cluster_table_fini(&(*order)->lines);
        cluster_table_fini(&(*order)->rows);
    }
    free(*order);
    *order = NULL;
}

/* An id is the place of a row: who has it says that the row is there. */
static struct row *row_at(const struct cluster_order *order, uint64_t place)
{
    return cluster_table_at(&order->rows, (uint32_t)place);
}

static struct line *line_at(const struct cluster_order *order, uint32_t place)
{
    return cluster_table_at(&order->lines, place);
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
        const struct cluster_order_key *own = &line_at(order, place)->key;

        if (own->pool == key->pool && own->origin == key->origin &&
            own->container == key->container && own->order == key->order)
            break;
    }
    return place;
}

/* ---- lines with a call that may be taken ---- */

static void enlist(struct cluster_order *order, uint32_t place)
{
    struct line *line = line_at(order, place);

    line->listed = true;
    line->next = 0;
    line->previous = order->last;
    *(order->last != 0 ? &line_at(order, order->last)->next : &order->first) = place;
    order->last = place;
}

static void unlist(struct cluster_order *order, uint32_t place)
{
    struct line *line = line_at(order, place);

    line->listed = false;
    *(line->previous != 0 ? &line_at(order, line->previous)->next : &order->first) = line->next;
    *(line->next != 0 ? &line_at(order, line->next)->previous : &order->last) = line->previous;
}

static bool is_ready(const struct row *row)
{
    return row->waits && !row->misses;
}

/* Returns the first call that waits and may be admitted, or 0: those with the number of the open
 * row may, all of them. */
static uint32_t first_waiting(const struct cluster_order *order, const struct line *line)
{
    uint32_t place = line->open;

    while (place != 0 && (row_at(order, place)->admitted || !is_ready(row_at(order, place)))) {
        place = row_at(order, place)->next;
        if (place != 0 && row_at(order, place)->number != row_at(order, line->open)->number)
            return 0;
    }
    return place;
}

/* Something has changed in the line. */
static void settle(struct cluster_order *order, uint32_t place)
{
    struct line *line = line_at(order, place);
    bool ready;

    while (line->open != 0 && row_at(order, line->open)->admitted)
        line->open = row_at(order, line->open)->next;
    ready = first_waiting(order, line) != 0;
    if (ready && !line->listed)
        enlist(order, place);
    if (!ready && line->listed)
        unlist(order, place);
}

bool cluster_order_take(struct cluster_order *order, uint64_t *subject)
{
    uint32_t place = order->first;
    struct row *row;

    if (place == 0)
        return false;
    row = row_at(order, first_waiting(order, line_at(order, place)));
    row->waits = false;
    *subject = row->subject;
    settle(order, place);
    return true;
}

/* ---- calls ---- */

static uint32_t add_line(struct cluster_order *order, const struct cluster_order_key *key)
{
    uint32_t place = cluster_table_take(&order->lines);

    line_at(order, place)->key = *key; /* a line has a row, so there is space for as many */
    cluster_index_put(&order->index, hash_of(order, key), place);
    return place;
}

/* Most calls come in the order of their numbers, so the place of one is sought from the last. */
static void link_row(struct cluster_order *order, uint32_t place)
{
    struct row *row = row_at(order, place);
    struct line *line = line_at(order, row->line);

    row->previous = line->last;
    while (row->previous != 0 && row_at(order, row->previous)->number > row->number) {
        row->next = row->previous;
        row->previous = row_at(order, row->previous)->previous;
    }
    *(row->previous != 0 ? &row_at(order, row->previous)->next : &line->first) = place;
    *(row->next != 0 ? &row_at(order, row->next)->previous : &line->last) = place;
    if (line->open == 0 || row_at(order, line->open)->number > row->number)
        line->open = place;
}

uint64_t cluster_order_add(struct cluster_order *order, const struct cluster_order_call *call)
{
    uint32_t place = cluster_table_take(&order->rows);
    uint32_t line = place != 0 ? seek(order, &call->key) : 0;

    if (place == 0)
        return 0;
    if (line == 0)
        line = add_line(order, &call->key);
    *row_at(order, place) =
        (struct row){.number = call->number, .subject = call->subject, .line = line};
    link_row(order, place);
    settle(order, line);
    return place;
}

bool cluster_order_has(const struct cluster_order *order, const struct cluster_order_key *key,
                       uint64_t number)
{
    uint32_t line = seek(order, key);
    uint32_t place = line != 0 ? line_at(order, line)->last : 0;

    while (place != 0 && row_at(order, place)->number > number)
        place = row_at(order, place)->previous;
    return place != 0 && row_at(order, place)->number == number;
}

uint64_t cluster_order_previous(const struct cluster_order *order, uint64_t id)
{
    const struct row *row = row_at(order, id);
    uint32_t place = row->previous;

    while (place != 0 && row_at(order, place)->number == row->number)
        place = row_at(order, place)->previous;
    return place != 0 ? row_at(order, place)->number : 0;
}

/* r[impl cluster.order.admit] */
bool cluster_order_may(const struct cluster_order *order, uint64_t id)
{
    const struct row *row = row_at(order, id);
    const struct line *line = line_at(order, row->line);

    return line->open == 0 || row_at(order, line->open)->number >= row->number;
}

static void set_misses(struct cluster_order *order, struct row *row, bool misses)
{
    line_at(order, row->line)->missing += (uint32_t)misses - (uint32_t)row->misses;
    row->misses = misses;
}

void cluster_order_wait(struct cluster_order *order, uint64_t id, bool misses)
{
    row_at(order, id)->waits = true;
    set_misses(order, row_at(order, id), misses);
}

/* The call that those after it miss may be this one. */
static void find_missed(struct cluster_order *order, const struct row *row)
{
    const struct line *line = line_at(order, row->line);
    uint32_t place = row->next;

    for (; place != 0 && line->missing > 0; place = row_at(order, place)->next)
        set_misses(order, row_at(order, place), false);
}

void cluster_order_admit(struct cluster_order *order, uint64_t id)
{
    struct row *row = row_at(order, id);

    CHECK(cluster_order_may(order, id));
    row->admitted = true;
    row->waits = false;
    set_misses(order, row, false);
    find_missed(order, row);
    settle(order, row->line);
}

/* Where numbers are equal any may be the first: the open row is the first of them in the line. */
void cluster_order_lose(struct cluster_order *order, uint64_t id)
{
    struct row *row = row_at(order, id);
    struct line *line = line_at(order, row->line);

    row->admitted = false;
    if (line->open == 0 || row_at(order, line->open)->number > row->number)
        line->open = (uint32_t)id;
    while (row_at(order, line->open)->previous != 0 &&
           row_at(order, row_at(order, line->open)->previous)->number ==
               row_at(order, line->open)->number)
        line->open = row_at(order, line->open)->previous;
    settle(order, row->line);
}

void cluster_order_end(struct cluster_order *order, uint64_t id)
{
    const struct row *row = row_at(order, id);
    uint32_t place = row->line;
    struct line *line = line_at(order, place);

    line->missing -= row->misses;
    if (line->open == id)
        line->open = row->next;
    *(row->previous != 0 ? &row_at(order, row->previous)->next : &line->first) = row->next;
    *(row->next != 0 ? &row_at(order, row->next)->previous : &line->last) = row->previous;
    cluster_table_give(&order->rows, (uint32_t)id);
    settle(order, place);
    if (line->first != 0)
        return;
    cluster_index_remove(&order->index, hash_of(order, &line->key), place);
    cluster_table_give(&order->lines, place);
}

uint32_t cluster_order_count(const struct cluster_order *order)
{
    return order->rows.count;
}
