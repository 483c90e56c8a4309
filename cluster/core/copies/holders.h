/* SPDX-License-Identifier: Apache-2.0 */
/* holders: which nodes keep the copies of each container, as the metastore has it, and which of
 * those that are to be named has a full copy. A container without a record has one holder: the node
 * that has what it keeps on a disk.
 */
#ifndef CLUSTER_CORE_COPIES_HOLDERS_H
#define CLUSTER_CORE_COPIES_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/wire/record.h"

struct cluster_holders;

struct cluster_holders_row {
    uint64_t pool;
    uint64_t revision; /* its record's last put */
    uint64_t held_epoch, tell_ns;
    uint32_t container, place;
    uint32_t joining; /* a node that is to be named; 0: none is */
    bool gone;        /* its record is, of `revision`: it is no row for others */
    uint32_t held;    /* it has a full copy of `held_epoch`; 0: that is not known of any */
    uint32_t count;
    uint32_t nodes[CLUSTER_RECORD_HOLDERS_MAX]; /* named, rising */
};

/* Makes a table of at most `max` containers. -ENOMEM. */
int cluster_holders_create(uint32_t max, uint64_t secret, struct cluster_holders **out);
void cluster_holders_release(struct cluster_holders **holders);

/* Return the row of a container, or NULL; the next one after a place, which becomes its place. A
 * row is good until the next change. */
struct cluster_holders_row *cluster_holders_find(const struct cluster_holders *holders,
                                                 uint64_t pool, uint32_t container);
struct cluster_holders_row *cluster_holders_after(const struct cluster_holders *holders,
                                                  uint32_t *place);

struct cluster_holders_put {
    uint64_t pool, revision;
    uint32_t container;
    const struct cluster_record_holders *record; /* which was read; NULL: it is gone */
    bool reading; /* all records are being read, perhaps as they were before this one went */
};

/* Takes a record, or its end, that is newer than what is known. RAPAHUB_EFULL: there are too many.
 */
int cluster_holders_put(struct cluster_holders *holders, const struct cluster_holders_put *put);

/* A reading of all records has ended: nothing older comes of those that are gone. */
void cluster_holders_read(struct cluster_holders *holders);

/* Notes that a node which joins has a full copy of an epoch. False: no such node joins. */
bool cluster_holders_note_held(struct cluster_holders_row *row, uint32_t node, uint64_t epoch);

/* Say whether a node is named; whether another one is; whether the owner waits for it. */
bool cluster_holders_names(const struct cluster_holders_row *row, uint32_t node);
bool cluster_holders_names_others(const struct cluster_holders_row *row, uint32_t node);
bool cluster_holders_waits_for(const struct cluster_holders_row *row, uint32_t node);

#endif
