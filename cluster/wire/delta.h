/* SPDX-License-Identifier: Apache-2.0 */
/* delta: the entries that one transaction changed, and the revision before it. It is the value of
 * the key of the log; who has applied the one before applies this one, any other asks. */
#ifndef CLUSTER_WIRE_DELTA_H
#define CLUSTER_WIRE_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/base/entry.h"
#include "cluster/wire/format.h"

#define CLUSTER_DELTA_CHANGES_MAX 60

struct cluster_delta_change {
    uint64_t pool;
    uint32_t container;
    uint32_t owner_before;      /* node; 0: none */
    struct cluster_entry entry; /* state NONE: it is gone, and all else is 0 */
};

struct cluster_delta {
    uint64_t previous;           /* revision of the delta before; 0: this is the first */
    struct cluster_list changes; /* struct cluster_delta_change */
};

/* Says whether there can be such a change. */
bool cluster_delta_is_sound(const struct cluster_delta_change *change);

/* Write and read a delta, with the results of cluster_format_put and cluster_format_read. */
int cluster_delta_put(struct hub_writer *writer, const struct cluster_delta *delta);
int cluster_delta_read(struct rapahub_bytes from, struct cluster_delta *out);
bool cluster_delta_next(struct cluster_list *list, struct cluster_delta_change *out);

/* The use that a node whose map has the revision `own` makes of a delta of `revision`. */
enum cluster_delta_step {
    CLUSTER_DELTA_APPLY,
    CLUSTER_DELTA_DROP, /* it has been applied */
    CLUSTER_DELTA_ASK   /* others are missing before it */
};
enum cluster_delta_step cluster_delta_step(uint64_t own, uint64_t revision, uint64_t previous);

#endif
