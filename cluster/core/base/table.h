/* SPDX-License-Identifier: Apache-2.0 */
/* table: rows of one size, whose number is bounded when it is made. A row has a place, from 1; 0 is
 * none. Places are given out in an order that depends on nothing but the calls before.
 */
#ifndef CLUSTER_CORE_BASE_TABLE_H
#define CLUSTER_CORE_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster_table {
    uint8_t *rows;
    uint32_t *next; /* for each place: the next free one, or that it is in use */
    size_t size;    /* bytes of a row */
    uint32_t max, count;
    uint32_t top;  /* places above it were never in use */
    uint32_t free; /* first free place below it; 0: none */
};

/* Makes the table. -ENOMEM; then it is empty memory that may be released. */
int cluster_table_init(struct cluster_table *table, uint32_t max, size_t size);
void cluster_table_fini(struct cluster_table *table);

/* Takes a place; its row is zeroed. 0: the table is full. */
uint32_t cluster_table_take(struct cluster_table *table);

/* Gives a place back that is in use. */
void cluster_table_give(struct cluster_table *table, uint32_t place);

/* Says whether any number is a place in use. */
bool cluster_table_has(const struct cluster_table *table, uint32_t place);

/* Returns the row of a place that is in use. */
void *cluster_table_at(const struct cluster_table *table, uint32_t place);

/* Returns the first place in use after `place`, or 0. After 0 comes the first of all. */
uint32_t cluster_table_after(const struct cluster_table *table, uint32_t place);

#endif
