/* SPDX-License-Identifier: Apache-2.0 */
/* boot_revoked: the certificates that the metastore has as revoked when a node starts. A
 * certificate that has expired since then is refused for its dates, and is forgotten.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_REVOKED_H
#define CLUSTER_NODE_BOOT_BOOT_REVOKED_H

#include "cluster/node/boot/boot.h"
#include "cluster/node/identity/node_identity.h"

/* Tells them to the identity of the node. Waits for the metastore. RAPAHUB_EFORMAT: a record is not
 * sound. RAPAHUB_EFULL: there are more than a set can have. */
int cluster_boot_revoked_read(const struct cluster_boot *boot,
                              struct cluster_node_identity *identity);

#endif
