/* SPDX-License-Identifier: Apache-2.0 */
/* two_nodes: nodes 1 and 2, each with a metastore of its own, and a link between them in memory.
 * Both have a pool `store` of the module `chained`, with containers 0 and 1, of durability none.
 * The map of node 1 says that node 2 has container 1. The program is linked with
 * --wrap=cluster_runner_turn.
 */
#ifndef TESTS_CLUSTER_TWO_NODES_H
#define TESTS_CLUSTER_TWO_NODES_H

#include "tests/cluster/living.h"

struct two_nodes {
    struct living one, two;
    struct rapahub_pool_id pool; /* its number is the same on both */
};

void two_nodes_begin(struct two_nodes *on); /* the link is up */
void two_nodes_end(struct two_nodes *on);

/* Cut the link, with all frames that are under way, and mend it. Any thread. */
void two_nodes_cut(void);
void two_nodes_mend(void);

/* Counts the frames that have left. Any thread. */
unsigned two_nodes_frames(void);

#endif
