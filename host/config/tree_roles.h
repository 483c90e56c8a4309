/* SPDX-License-Identifier: Apache-2.0 */
/* tree_roles: the roles that guests of a tree file have in its regions. */
#ifndef CONFIG_TREE_ROLES_H
#define CONFIG_TREE_ROLES_H

#include "host/config/tree.h"

/* Reads the list of a guest into guest->roles. RAPAHUB_ECONFIG. */
int config_tree_roles_read(struct config_yaml *yaml, struct config_tree_node *guest);

/* Checks the roles of all guests, in their order, against the regions of the file: RAPAHUB_ECONFIG
 * at the key that is in the way. r[impl exp.config.regions] */
int config_tree_roles_check(struct config_tree *tree);

#endif
