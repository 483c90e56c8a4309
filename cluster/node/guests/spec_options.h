/* SPDX-License-Identifier: Apache-2.0 */
/* spec_options: the options of a pool's guests, from the pairs of its spec: keys of
 * rapahub-tree(5), each with a word or a number in its base unit. Any thread.
 */
#ifndef CLUSTER_NODE_GUESTS_SPEC_OPTIONS_H
#define CLUSTER_NODE_GUESTS_SPEC_OPTIONS_H

#include "cluster/base/keys.h"
#include "cluster/wire/pool_spec.h"
#include "host/config/tree.h"

struct cluster_spec_options {
    struct config_tree_node node; /* how, limits, trust and finish are set */
    unsigned words_count;
    char words[CLUSTER_POOL_SPEC_OPTIONS_MAX][CLUSTER_KEYS_NAME_MAX + 1];
};

/* Reads them. RAPAHUB_ECONFIG names a key that guests of a pool do not have, or a value that it
 * does not accept. `out` must stay where it is while its options are used. */
int cluster_spec_options_read(const struct cluster_pool_spec *spec,
                              struct cluster_spec_options *out);

#endif
