/* SPDX-License-Identifier: Apache-2.0 */
/* pool_complete: the defaults of a pool, and what depends on its module.
 */
#ifndef CLUSTER_CLI_POOL_COMPLETE_H
#define CLUSTER_CLI_POOL_COMPLETE_H

#include "cluster/cli/pool/pool_draft.h"
#include "cluster/cli/pool/pool_module.h"

/* Fills in all that the file does not say. RAPAHUB_ECONFIG where the module has not what the file
 * asks for; RAPAHUB_ENOMEM. */
int cluster_pool_complete(struct cluster_pool_draft *draft,
                          const struct cluster_pool_module *module);

/* Writes the spec into the memory of the file. RAPAHUB_ENOMEM. */
int cluster_pool_complete_write(struct cluster_pool_draft *draft, struct rapahub_bytes *out);

#endif
