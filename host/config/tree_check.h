/* SPDX-License-Identifier: Apache-2.0 */
/* tree_check: finds faults that no single value of a tree file shows: in names, in dependencies,
 * and everything that host/supervise would refuse, each at the place of its key. */
#ifndef CONFIG_TREE_CHECK_H
#define CONFIG_TREE_CHECK_H

#include "host/config/tree.h"

/* RAPAHUB_ECONFIG, with a rule of supervise.lint.* where it has one. */
int config_tree_check(struct config_tree *tree);

#endif
