/* SPDX-License-Identifier: Apache-2.0 */
/* covered: the calls that a copy of a container's state covers, written beside it, and read back by
 * the next life of the container: it knows the calls that are in its state, and no others.
 */
#ifndef CLUSTER_CORE_CALLS_COVERED_H
#define CLUSTER_CORE_CALLS_COVERED_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/calls/dedup.h"
#include "hub/base/bytes.h"

/* Finds the bytes of a body that is outside, by its number. They are good until the next call. */
typedef void cluster_covered_body(void *user, uint64_t number, struct rapahub_bytes *out);

/* The calls that are written: the ends after `after`, 0: from the first, up to `until`. */
struct cluster_covered_span {
    uint64_t pool;
    uint32_t container;
    uint64_t after, until;
};

/* Writes the calls of a container in this span of ends, and the origins that it knows, as
 * cluster/wire/copy_calls.h says. Returns the writer's failure. */
int cluster_covered_write(struct cluster_dedup *dedup, const struct cluster_covered_span *span,
                          struct hub_writer *to, cluster_covered_body *body, void *user);

struct cluster_covered_read {
    uint64_t pool;
    uint32_t container;
    struct rapahub_bytes from;
    const uint64_t *numbers; /* answers that are kept outside, in their order: those of more
                                than CLUSTER_EFFECTS_BODY_MAX bytes */
    uint32_t numbers_count;
};

/* Adds calls that were written to the history of a container, which has begun; all are covered
 * then. RAPAHUB_EFORMAT: no such calls can have been written. RAPAHUB_EFULL: they are more than
 * there may be. Then nothing has changed, and the answers outside are the caller's. */
int cluster_covered_read(struct cluster_dedup *dedup, const struct cluster_covered_read *read);

#endif
