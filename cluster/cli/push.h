/* SPDX-License-Identifier: Apache-2.0 */
/* push: the file of a module, sent to a node in parts.
 */
#ifndef CLUSTER_CLI_PUSH_H
#define CLUSTER_CLI_PUSH_H

#include "cluster/cli/client/node_client.h"
#include "cluster/cli/pool/pool_module.h"

/* Sends a file with this SHA-256, unless the node has it. -errno: it cannot be read;
 * RAPAHUB_ESTALE: it is not as it was when its digest was made; RAPAHUB_EDIFFERS: the node has
 * another file of this name and version; the failures of a call. */
int cluster_push_file(const struct cluster_node_client *node, const char *path,
                      const uint8_t digest[CLUSTER_POOL_SPEC_DIGEST]);

#endif
