/* SPDX-License-Identifier: Apache-2.0 */
/* tree_regions: the regions of a tree file, as options of the library, checked as the library will
 * check them. Nothing is made. */
#ifndef CONFIG_TREE_REGIONS_H
#define CONFIG_TREE_REGIONS_H

#include "host/config/tree.h"

/* Reads the list of the file. RAPAHUB_ECONFIG: an option that is none, or does not go with the
 * kind, at its key; a region that is not there, or is of another kind, at its name or kind. r[impl
 * exp.config.regions] */
int config_tree_regions_read(struct config_tree *tree);
void config_tree_regions_close(struct config_tree *tree);

/* Returns the region of that name; NULL: none. */
const struct config_tree_region *config_tree_regions_find(const struct config_tree *tree,
                                                          const char *name);

/* Returns how many handles of a role the region has; 0: none. `shared`: any number may have the
 * same index. */
uint32_t config_tree_regions_places(const struct config_tree_region *region,
                                    enum rapahub_region_role role, bool *shared);

#endif
