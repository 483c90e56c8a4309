/* SPDX-License-Identifier: Apache-2.0 */
/* tree_map: a map of keys of rapahub-tree(5), in whichever file it is, read into the options. */
#ifndef CONFIG_TREE_MAP_H
#define CONFIG_TREE_MAP_H

#include "host/config/tree.h"

/* Reads a map and the groups in it. Its keys are of these kinds (CONFIG_TREE_OF_GUEST, ...), and
 * continue `before`, "" or that of a group, as "backoff.".
 * RAPAHUB_ECONFIG: an unknown key, with the nearest one, a key that is said twice, or a value that
 * is none of its key. */
int config_tree_map_read(struct config_yaml *yaml, struct config_tree_node *to, unsigned of,
                         const char *before, struct fy_node *map);

/* How a value is called in a message: "a list", "a map", "a text", "nothing". */
const char *config_tree_map_shape(struct fy_node *value);

#endif
