/* SPDX-License-Identifier: Apache-2.0 */
/* tree_check: finds faults that no single value of a tree file shows: in names, in dependencies,
 * and everything that host/supervise would refuse, each at the place of its key. */
#ifndef CONFIG_TREE_CHECK_H
#define CONFIG_TREE_CHECK_H

#include "host/config/tree.h"

/* RAPAHUB_ECONFIG, with a rule of supervise.lint.* where it has one. */
int config_tree_check(struct config_tree *tree);

/* The same for the options of a single guest, which has no siblings: `at` is the map of its keys,
 * `name` what messages call it. */
int config_tree_check_guest(struct config_yaml *yaml, const struct config_tree_node *guest);

#endif
