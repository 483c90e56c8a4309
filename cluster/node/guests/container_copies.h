/* SPDX-License-Identifier: Apache-2.0 */
/* container_copies: the state of a container is taken out of its guest, and kept on the disk beside
 * the calls that it covers. Changes are taken while calls go on. For a whole state the container is
 * plugged, since its module may give up what it has open; calls wait meanwhile. Owner.
 */
#ifndef CLUSTER_NODE_GUESTS_CONTAINER_COPIES_H
#define CLUSTER_NODE_GUESTS_CONTAINER_COPIES_H

#include "cluster/core/base/effects.h"
#include "cluster/node/guests/container_rows.h"

/* Carries out the effect COPY: one event COPIED comes, whatever ends meanwhile. */
void cluster_container_copies_begin(struct cluster_container_rows *rows,
                                    const struct cluster_effect *effect);

/* Unplugs containers again that could not be unplugged. Returns when it wants to be called again.
 */
uint64_t cluster_container_copies_step(struct cluster_container_rows *rows, uint64_t now_ns);

/* Frees the copies that wait for that. */
void cluster_container_copies_fini(struct cluster_container_rows *rows);

#endif
