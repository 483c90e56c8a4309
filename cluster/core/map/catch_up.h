/* SPDX-License-Identifier: Apache-2.0 */
/* catch_up: how the map follows the metastore. It applies deltas in their order, each on the one
 * before; where one is missing, or does not fit, it asks for a reading of all entries, and takes no
 * delta until that has ended. The map's revision never goes back.
 */
#ifndef CLUSTER_CORE_MAP_CATCH_UP_H
#define CLUSTER_CORE_MAP_CATCH_UP_H

#include <stdint.h>

#include "cluster/core/map/address_map.h"
#include "cluster/wire/delta.h"

enum cluster_catch_up_state {
    CLUSTER_CATCH_UP_OUTDATED, /* entries must be read; at first, too */
    CLUSTER_CATCH_UP_READING,  /* they are being read */
    CLUSTER_CATCH_UP_CURRENT,  /* the map is that of the metastore at its revision */
    CLUSTER_CATCH_UP_STATES
};

extern const struct hub_states cluster_catch_up_states;

struct cluster_catch_up {
    struct cluster_address_map *map;
    uint64_t revision; /* the map's: that of the last delta in it; 0: none */
    uint64_t heard;    /* the highest revision that a delta had */
    uint64_t target;   /* the last reading's */
    uint32_t state;
    uint32_t reading; /* its number */
};

void cluster_catch_up_init(struct cluster_catch_up *catch_up, struct cluster_address_map *map);

/* Says what becomes of a delta: it is to be applied, or was, or entries must be read first; then
 * the state is OUTDATED, or a reading is under way. */
enum cluster_delta_step cluster_catch_up_offer(struct cluster_catch_up *catch_up, uint64_t revision,
                                               uint64_t previous);

/* Applies a delta, which was read, wholly or not at all, with the same result as above. A delta
 * that does not fit the map is not applied, and entries must be read. */
enum cluster_delta_step cluster_catch_up_apply(struct cluster_catch_up *catch_up, uint64_t revision,
                                               const struct cluster_delta *delta);

/* The map may miss something that the metastore has: entries must be read, unless they are. */
void cluster_catch_up_doubt(struct cluster_catch_up *catch_up);

/* Begins a reading, which the state asks for: all entries as they are at one revision of the
 * metastore, at which the last delta has the revision `last`; 0: there was none. RAPAHUB_ESTALE:
 * that is before what the map, or a reading of before, has. */
int cluster_catch_up_read(struct cluster_catch_up *catch_up, uint64_t last);

/* Takes an entry of the reading, with the revision that put it. RAPAHUB_EFORMAT for one that cannot
 * be, RAPAHUB_EFULL where there are too many; then the reading has failed. */
int cluster_catch_up_entry(struct cluster_catch_up *catch_up, uint64_t pool, uint32_t container,
                           uint64_t revision, const struct cluster_entry *entry);

/* Ends a reading: entries that it did not meet are gone. If deltas after it were heard of meanwhile
 * the state is OUTDATED again, else CURRENT. */
void cluster_catch_up_read_end(struct cluster_catch_up *catch_up);

/* A reading has failed; the map keeps what it took of it, and its revision. */
void cluster_catch_up_read_failed(struct cluster_catch_up *catch_up);

#endif
