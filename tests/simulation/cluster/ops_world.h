/* SPDX-License-Identifier: Apache-2.0 */
/* ops_world: everything around the operations of one node, made from a seed: a metastore that is
 * slow, full, or loses an answer; containers that fail to begin, die, and cannot be removed; people
 * who create, delete, release, wait and go away; a node that crashes and starts again from what was
 * durable. It carries out the effects, and checks for conditions that must never occur:
 *
 *   written   each transaction leaves the metastore whole: entries follow one another, a name, a
 *             number and their entries belong to one pool, a delta has what was written after the
 *             one before, an operation goes on as it may, nothing of a pool stays without it
 *   begin     a container begins only as its entry says, with a token above all before, and in a
 *             lineage of its own unless all of its answered calls are kept
 *   release   calls reach a container only after it has begun, and its entry and pool are active
 *   folder    what a container had is gone before its pool is
 *   order     each order has one end; what was acknowledged is in the metastore from then on
 *   map       the node's map is that of the metastore at its revision
 *   rest      in the end every operation has ended, and each container of each pool serves, or is
 *             quarantined
 */
#ifndef TESTS_SIMULATION_CLUSTER_OPS_WORLD_H
#define TESTS_SIMULATION_CLUSTER_OPS_WORLD_H

#include <stdint.h>

struct ops_world_figures {
    uint64_t lives, events, orders, ended, refused, transactions, conflicts, not_applied;
    uint64_t begins, failed_begins, deaths, removals, crashes, readings;
    uint64_t done[4], aborted[4]; /* operations, by kind */
    uint64_t quarantined, late;
    uint64_t trace; /* of the last life: a hash of all effects in their order */
};

/* Lives one life of `steps` events. NULL: nothing was broken; else the condition, with the seed.
 * The text is good until the next life. */
const char *ops_world_live(uint64_t seed, unsigned steps);

const struct ops_world_figures *ops_world_figures(void);

#endif
