/* SPDX-License-Identifier: Apache-2.0 */
/* boot_node: the record of this node in the metastore, once it has read what that has.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_NODE_H
#define CLUSTER_NODE_BOOT_BOOT_NODE_H

#include "cluster/node/boot/boot.h"

/* Has a node that joins be active, and its record name the addresses at which it listens:
 * HOST:PORT, with commas between several, or NULL. An address of every machine, as *, is left out.
 * Waits for the metastore, where there is something to change. RAPAHUB_ESTATE: its record says that
 * it is no node of the cluster any more, or was changed meanwhile. */
int cluster_boot_node_activate(const struct cluster_boot *boot, const char *listen);

/* Returns the first of such addresses that a record names, within `listen`; of 0 bytes: none. */
struct rapahub_string cluster_boot_node_address(const char *listen);

#endif
