/* SPDX-License-Identifier: Apache-2.0 */
/* pool_methods: the keys repeat and outside of a pool file, once the module is known.
 */
#ifndef CLUSTER_CLI_POOL_METHODS_H
#define CLUSTER_CLI_POOL_METHODS_H

#include "cluster/cli/pool/pool_draft.h"
#include "cluster/cli/pool/pool_module.h"

/* Looks up the methods that the draft names: a name means all methods that bear it; of a module
 * that does not list its methods whole signatures are taken. RAPAHUB_ECONFIG names the place, and a
 * near method. */
int cluster_pool_methods_take(struct cluster_pool_draft *draft,
                              const struct cluster_pool_module *module);

#endif
