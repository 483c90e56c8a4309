/* SPDX-License-Identifier: Apache-2.0 */
/* strategy: determines which children go together with a child. The result is the member `marked`
 * of the children. Pure. */
#ifndef HOST_SUPERVISE_STRATEGY_H
#define HOST_SUPERVISE_STRATEGY_H

#include "host/supervise/tree.h"

/* Marks the child, and those that are restarted with it by its supervisor's strategy.
 * r[impl supervise.strategy] */
void host_strategy_mark(struct host_tree *tree, uint32_t place);

/* Marks the child, and those that may not run without it: children that require it or are part of
 * it, and their dependants in turn. r[impl supervise.requires] */
void host_strategy_mark_dependants(struct host_tree *tree, uint32_t place);

#endif
