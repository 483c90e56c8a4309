/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/table.h"

#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/memory.h"

#define IN_USE UINT32_MAX

int cluster_table_init(struct cluster_table *table, uint32_t max, size_t size)
{
    CHECK(max > 0 && max < IN_USE && size > 0);
    *table = (struct cluster_table){.size = size, .max = max};
    table->rows = hub_memory_sparse((size_t)max * size);
    table->next = hub_memory_sparse(((size_t)max + 1) * sizeof *table->next);
    if (table->rows && table->next)
        return 0;
    cluster_table_fini(table);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u rows", max);
}

void cluster_table_fini(struct cluster_table *table)
{
    if (table->rows)
        hub_memory_free_sparse(table->rows, (size_t)table->max * table->size);
    if (table->next)
        hub_memory_free_sparse(table->next, ((size_t)table->max + 1) * sizeof *table->next);
    *table = (struct cluster_table){0};
}

uint32_t cluster_table_take(struct cluster_table *table)
{
    uint32_t place = table->free;

    if (place != 0)
        table->free = table->next[place];
    else if (table->top < table->max)
        place = ++table->top;
    else
        return 0;
    table->next[place] = IN_USE;
    table->count++;
    memset(cluster_table_at(table, place), 0, table->size);
    return place;
}

bool cluster_table_has(const struct cluster_table *table, uint32_t place)
{
    return place > 0 && place <= table->top && table->next[place] == IN_USE;
}

void cluster_table_give(struct cluster_table *table, uint32_t place)
{
    CHECK(cluster_table_has(table, place));
    table->next[place] = table->free;
    table->free = place;
    table->count--;
}

void *cluster_table_at(const struct cluster_table *table, uint32_t place)
{
    CHECK(cluster_table_has(table, place));
    return table->rows + (size_t)(place - 1) * table->size;
}

uint32_t cluster_table_after(const struct cluster_table *table, uint32_t place)
{
    while (place < table->top)
        if (cluster_table_has(table, ++place))
            return place;
    return 0;
}
