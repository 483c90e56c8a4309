/* SPDX-License-Identifier: Apache-2.0 */
/* node_world: everything around the core of one node, made from a seed: a metastore whose deltas
 * come late, twice or not at all; containers that begin, are held, die and go; clients that call,
 * cancel and send again; time. It carries out the effects, and checks for conditions that must
 * never occur:
 *
 *   map       the node's map is that of the metastore at its revision
 *   forward   the revision of the map does not go back
 *   target    no call runs in a container that its query does not mean, or that does not serve
 *   twice     a call that must not run twice does not, in any lineage
 *   maybe     none runs after its caller was told that it may have run
 *   order     see node_orders.h
 *   answer    each call has one end, and each of its containers at most one
 *   late      no call is open after its deadline, and the longest delay between two attempts
 *   bounds    no table is above its limits, and counts are right
 *   rest      when all has ended, nothing is kept
 */
#ifndef TESTS_SIMULATION_CLUSTER_NODE_WORLD_H
#define TESTS_SIMULATION_CLUSTER_NODE_WORLD_H

#include <stdint.h>

struct node_world_figures {
    uint64_t lives, events, calls, runs, again, ended[8]; /* ended: by status, see node_world.c */
    uint64_t readings, deaths;
    uint64_t trace; /* of the last life: a hash of all effects in their order */
};

/* Lives one life of `steps` events. NULL: nothing was broken; else the condition, with the seed.
 * The text is good until the next life. */
const char *node_world_live(uint64_t seed, unsigned steps);

const struct node_world_figures *node_world_figures(void);

#endif
