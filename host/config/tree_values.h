/* SPDX-License-Identifier: Apache-2.0 */
/* tree_values: from one value of a tree file to one option. */
#ifndef CONFIG_TREE_VALUES_H
#define CONFIG_TREE_VALUES_H

#include "host/config/tree_keys.h"

/* Sets the option from a value. RAPAHUB_ECONFIG names the key and the values that it accepts. */
int config_tree_values_set(struct config_yaml *yaml, struct config_tree_node *to,
                           const struct config_tree_key *key, struct fy_node *value);

#endif
