/* SPDX-License-Identifier: Apache-2.0 */
/* operations: what people asked for, and how far it is. The last ones are kept when they have
 * ended, so that their results can be asked for.
 */
#ifndef CLUSTER_CORE_OPS_OPERATIONS_H
#define CLUSTER_CORE_OPS_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/keys.h"
#include "cluster/wire/operation.h"
#include "cluster/wire/record.h"

#define CLUSTER_OPERATIONS_MAX      1024 /* open and ended */
#define CLUSTER_OPERATIONS_SPARE    64   /* places for new ones, before ended ones are forgotten */
#define CLUSTER_OPERATIONS_TEXT_MAX 400

struct cluster_operations_row {
    uint64_t number;
    uint64_t revision; /* the last put of its record; 0: it is not in the metastore yet */
    uint64_t pool;
    uint64_t deadline_ns;     /* 0: it has not been seen since the start */
    uint64_t module_revision; /* CREATE, until it is in the metastore: of its module's record */
    uint32_t container;
    uint32_t budget_ms; /* 0: it has no deadline */
    int32_t result;
    uint32_t state; /* enum cluster_operation_state */
    uint8_t kind;
    char name[CLUSTER_KEYS_NAME_MAX + 1];       /* the pool's */
    char text[CLUSTER_OPERATIONS_TEXT_MAX + 1]; /* says why */
};

struct cluster_operations;

/* Makes a table of CLUSTER_OPERATIONS_MAX operations. -ENOMEM. */
int cluster_operations_create(struct cluster_operations **out);
void cluster_operations_release(struct cluster_operations **operations);

/* Adds a new operation, with the number after the highest, and returns its place; 0: there are too
 * many. */
uint32_t cluster_operations_add(struct cluster_operations *operations, uint8_t kind, uint64_t pool,
                                uint32_t container, const char *name);

/* Takes an operation of the metastore, with the revision of its last put, unless it is known as it
 * is there. RAPAHUB_EFORMAT for one that cannot be, RAPAHUB_EFULL where there are too many. */
int cluster_operations_put(struct cluster_operations *operations, uint64_t number,
                           uint64_t revision, const struct cluster_record_operation *record);

void cluster_operations_remove(struct cluster_operations *operations, uint32_t place);

/* Return the row of a place in use; the place of a number, or 0; the next place after one, or 0. */
struct cluster_operations_row *cluster_operations_at(const struct cluster_operations *operations,
                                                     uint32_t place);
uint32_t cluster_operations_find(const struct cluster_operations *operations, uint64_t number);
uint32_t cluster_operations_after(const struct cluster_operations *operations, uint32_t place);

bool cluster_operations_has_ended(const struct cluster_operations_row *row);

/* Returns the place of the open operation of this kind for a pool, or 0. */
uint32_t cluster_operations_open(const struct cluster_operations *operations, uint8_t kind,
                                 uint64_t pool);

/* Returns the place of the last operation of this kind that has the name, and of any pool or of
 * `pool`, if that is not 0; or 0. */
uint32_t cluster_operations_last(const struct cluster_operations *operations, uint8_t kind,
                                 uint64_t pool, struct rapahub_string name);

/* Returns the place of the oldest operation that has ended, if there are more than
 * CLUSTER_OPERATIONS_MAX, or 0: it is to be forgotten. */
uint32_t cluster_operations_surplus(const struct cluster_operations *operations);

/* Changes the state of an operation. Aborts on a change that is not in the table. */
void cluster_operations_move(struct cluster_operations_row *row, uint32_t to, int32_t result,
                             const char *text);

/* Gives an operation a text, unless it has one. */
void cluster_operations_note(struct cluster_operations_row *row, const char *text);

/* Writes the record that the operation has in this state. Its views are of the row, of `text` and
 * of `arguments`, which gets its arguments. */
#define CLUSTER_OPERATIONS_ARGUMENTS 128 /* bytes */
struct cluster_record_operation cluster_operations_record(
    const struct cluster_operations_row *row, uint32_t state, int32_t result, const char *text,
    uint8_t arguments[CLUSTER_OPERATIONS_ARGUMENTS]);

/* Sets until when an operation has time, if it was not set, and returns that: the time counts from
 * when this life of the node saw it first. UINT64_MAX: it waits for no time that is to come. */
uint64_t cluster_operations_due(struct cluster_operations_row *row, uint64_t now_ns);

#endif
