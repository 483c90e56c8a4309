/* SPDX-License-Identifier: Apache-2.0 */
/* recoveries: the nodes of which a session is over, for certain, while entries are of it: what was
 * theirs recovers. A row is of one node, and follows a record of the metastore, so that the next
 * life of the node that leads goes on with it.
 */
#ifndef CLUSTER_CORE_NODES_RECOVERIES_H
#define CLUSTER_CORE_NODES_RECOVERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/entry.h"
#include "cluster/wire/operation.h"
#include "cluster/wire/record.h"

/* An order that waits for the recovery of a node has this, and the node, as its operation: no
 * operation has such a number. It ends by cluster_orders_end_all. */
#define CLUSTER_RECOVERIES_ORDER (UINT64_C(1) << 63)

/* The same, of an order that waits until a node has left the cluster. */
#define CLUSTER_RECOVERIES_LEAVE (CLUSTER_RECOVERIES_ORDER | UINT64_C(1) << 62)

struct cluster_recovery {
    uint64_t session;  /* entries of it, and of earlier ones, are lost */
    uint64_t revision; /* the last put of its record; 0: it is not in the metastore yet */
    uint64_t before, before_revision; /* an earlier record that this one follows; 0: none */
    uint64_t since_ns;                /* this node that leads knows of it since then; 0: not yet */
    uint32_t node;
    uint32_t place;
    struct cluster_operation_recovery is;     /* the record is to say this */
    struct cluster_operation_recovery sent;   /* the transaction under way says this */
    struct cluster_operation_recovery stored; /* the record says this */
    /* Counted by recover.h, each time that all entries are looked at. */
    uint32_t left;    /* entries that are lost, and have no other owner yet */
    uint32_t waiting; /* some of these: only the disk of the node has their states */
    uint32_t without; /* some of these: no other node may have them */
};

struct cluster_recoveries;

/* Makes a table of as many rows as there are nodes. -ENOMEM. */
int cluster_recoveries_create(uint32_t nodes, struct cluster_recoveries **out);
void cluster_recoveries_release(struct cluster_recoveries **recoveries);

/* Return the row of a node, or NULL; the row at a place in use; the next after a place, which
 * becomes its place; 0 is before the first. */
struct cluster_recovery *cluster_recoveries_find(const struct cluster_recoveries *recoveries,
                                                 uint32_t node);
struct cluster_recovery *cluster_recoveries_at(const struct cluster_recoveries *recoveries,
                                               uint32_t place);
struct cluster_recovery *cluster_recoveries_after(const struct cluster_recoveries *recoveries,
                                                  uint32_t *place);

/* Notes that a session of a node is over, by this proof, or by a better one than before: a later
 * session takes the place of an earlier one. NULL: there are too many. */
struct cluster_recovery *cluster_recoveries_note(struct cluster_recoveries *recoveries,
                                                 uint32_t node, uint64_t session, uint8_t proof);

/* Says whether the record of a row is there, and is as it is to be. */
bool cluster_recoveries_is_stored(const struct cluster_recovery *recovery);

/* Takes a record of the metastore, with the revision of its last put, unless it is known as it is
 * there. RAPAHUB_EFORMAT for one that cannot be, RAPAHUB_EFULL where there are too many. */
int cluster_recoveries_put(struct cluster_recoveries *recoveries, const struct cluster_key *key,
                           uint64_t revision, const struct cluster_record_operation *record);

void cluster_recoveries_remove(struct cluster_recoveries *recoveries, uint32_t place);
void cluster_recoveries_clear(struct cluster_recoveries *recoveries);

/* Returns the record that a transaction is about to write of a row, with views of `arguments`. */
#define CLUSTER_RECOVERIES_ARGUMENTS 16 /* bytes */
struct cluster_record_operation cluster_recoveries_record(
    struct cluster_recovery *recovery, uint8_t arguments[CLUSTER_RECOVERIES_ARGUMENTS]);

/* The record of this session was written at this revision; 0: it is gone. The row may be of a later
 * session by now. */
void cluster_recoveries_written(struct cluster_recovery *recovery, uint64_t session,
                                uint64_t revision);

#endif
