/* SPDX-License-Identifier: Apache-2.0 */
/* container_beginning: a container begins, managed and held, when it has all that it waits for: its
 * folder, its guest, and the copies of its state, which it loads one after another. Owner.
 */
#ifndef CLUSTER_NODE_GUESTS_CONTAINER_BEGINNING_H
#define CLUSTER_NODE_GUESTS_CONTAINER_BEGINNING_H

#include "cluster/node/guests/container_rows.h"

/* Asks the disk for folder and copies, as far as it has not got them. The container WAITS. */
int cluster_container_beginning_ask(struct cluster_container_row *row);

/* Begins, if the container waits for nothing more. */
void cluster_container_beginning_try(struct cluster_container_row *row);

/* It has begun, or not: the core is told, and a removal that waited goes on. */
void cluster_container_beginning_end(struct cluster_container_row *row, int status,
                                     const char *text);

#endif
