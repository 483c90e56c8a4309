/* SPDX-License-Identifier: Apache-2.0 */
/* container_loads: the copies with which a container begins: their calls are told to the core, and
 * their bytes are handed to the new life, the whole state first, then each of its changes. Owner.
 */
#ifndef CLUSTER_NODE_GUESTS_CONTAINER_LOADS_H
#define CLUSTER_NODE_GUESTS_CONTAINER_LOADS_H

#include <rapahub/lifecycle.h>

#include "cluster/node/guests/container_rows.h"

/* Says whether ends of calls in its pool are told after a copy covers them. */
bool cluster_container_loads_are_acked(const struct cluster_container_row *row);

/* Takes the copies that were read, and tells the core, in an acknowledged pool, the calls that they
 * cover: events RESTORED. A failure: the container must not begin with them. */
int cluster_container_loads_take(struct cluster_container_row *row,
                                 struct cluster_disk_result *result);

/* Begins to hand out the next copy. False: there is none left. */
bool cluster_container_loads_next(struct cluster_container_row *row, struct rapahub_pieces *out);

/* Forgets them, and frees their memory. */
void cluster_container_loads_drop(struct cluster_container_row *row);

#endif
