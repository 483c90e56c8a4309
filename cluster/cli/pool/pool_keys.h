/* SPDX-License-Identifier: Apache-2.0 */
/* pool_keys: the one table of the keys of a pool file, and what each does to the draft.
 */
#ifndef CLUSTER_CLI_POOL_KEYS_H
#define CLUSTER_CLI_POOL_KEYS_H

#include "cluster/cli/pool/pool_draft.h"

/* The name of the n-th key; NULL after the last. */
const char *cluster_pool_keys_name(unsigned index);

/* Reads the map draft->at. RAPAHUB_ECONFIG names the place, the key, and what belongs there, or the
 * nearest key. */
int cluster_pool_keys_read(struct cluster_pool_draft *draft);

#endif
