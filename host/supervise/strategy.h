/* SPDX-License-Identifier: Apache-2.0 */
/* strategy: who goes with a child. The set is written as `marked` of the children. Pure. */
#ifndef HOST_SUPERVISE_STRATEGY_H
#define HOST_SUPERVISE_STRATEGY_H

#include "host/supervise/tree.h"

/* Marks it, and those that are started again with it, as its supervisor's strategy says.
 * r[impl supervise.strategy] */
void host_strategy_mark(struct host_tree *tree, uint32_t place);

/* Marks it, and those that may not run without it: who requires it or is part of it, and who does
 * so of them. r[impl supervise.requires] */
void host_strategy_mark_dependants(struct host_tree *tree, uint32_t place);

#endif
