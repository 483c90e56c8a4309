/* SPDX-License-Identifier: Apache-2.0 */
/* container_removal: a container goes, with all that it had on this node: its `fini` runs, its
 * guest ends if no other container is in it, its folder is put aside, its copies are removed.
 * Owner.
 */
#ifndef CLUSTER_NODE_GUESTS_CONTAINER_REMOVAL_H
#define CLUSTER_NODE_GUESTS_CONTAINER_REMOVAL_H

#include "cluster/core/base/effects.h"
#include "cluster/node/guests/container_rows.h"

/* Carries out the effect REMOVE. */
void cluster_container_removal_begin(struct cluster_container_rows *rows,
                                     const struct cluster_effect *effect);

/* Goes on with a removal, if there is one and the container is in no other step. */
void cluster_container_removal_go_on(struct cluster_container_row *row);

/* Lets go of the guests of containers that have ended. In no callback of the host. */
void cluster_container_removal_step(struct cluster_container_rows *rows);

/* Its guest is closed. */
void cluster_container_removal_closed(struct cluster_container_row *row);

#endif
