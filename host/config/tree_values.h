/* SPDX-License-Identifier: Apache-2.0 */
/* tree_values: from one value of a tree file to one option. */
#ifndef CONFIG_TREE_VALUES_H
#define CONFIG_TREE_VALUES_H

#include "host/config/tree_keys.h"

/* A value of the shape that its key wants. RAPAHUB_ECONFIG names the key and what belongs there. */
int config_tree_values_set(struct config_tree *tree, struct config_tree_node *to,
                           const struct config_tree_key *key, struct fy_node *value);

#endif
