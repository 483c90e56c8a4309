/* SPDX-License-Identifier: Apache-2.0 */
/* peer_world: the cores of 2 to 5 nodes, and everything around them, made from a seed: a metastore
 * that all follow, each in its own time; links that delay, lose and repeat frames, and are cut;
 * containers that each have one owner for ever, begin, are held and die; nodes that die and come
 * back with another boot and another session; clients that call through any node, cancel, and send
 * again; time, which is another one on each node. Conditions that must never occur:
 *
 *   target    no call runs in a container that its query does not mean, or that does not serve
 *   twice     a call that must not run twice does not, on any node, in any lineage
 *   maybe     none runs after its caller was told that it may have run
 *   order     calls of one order that one node makes run as they were made
 *   answer    each call has one end, which one of its own runs has given, and each of its
 * containers at most one token     no answer is of an epoch before the one that the map of its
 * caller has link      no frame goes to a node whose link is not up, and each can be read late no
 * call is open after its deadline, and the longest delay between two attempts bounds    no table is
 * above its limits, and counts are right rest      when all has ended, nothing is kept
 */
#ifndef TESTS_SIMULATION_CLUSTER_PEER_WORLD_H
#define TESTS_SIMULATION_CLUSTER_PEER_WORLD_H

#include <stdint.h>

struct peer_world_figures {
    uint64_t lives, events, calls, runs, again;
    uint64_t ended[8]; /* by status, see peer_rules.c */
    uint64_t frames, lost, repeated, refused, cuts, deaths, restarts;
    uint64_t remote; /* answers of other nodes */
    uint64_t trace;  /* of the last life: a hash of all effects in their order */
};

/* Lives one life of `steps` events. NULL: nothing was broken; else the condition, with the seed.
 * The text is good until the next life. */
const char *peer_world_live(uint64_t seed, unsigned steps);

const struct peer_world_figures *peer_world_figures(void);

/* Tells a node of an event, and carries out its effects. */
struct cluster_event;
int peer_world_tell(uint32_t node, const struct cluster_event *event);

#endif
