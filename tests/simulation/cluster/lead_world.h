/* SPDX-License-Identifier: Apache-2.0 */
/* lead_world: the operations of 2 to 5 nodes, one of which leads, and everything around them, made
 * from a seed: one metastore, which each node follows in its own time; links to the node that leads
 * which delay, lose and repeat reports, and are cut; containers that fail to begin, die, and cannot
 * be removed; nodes, also the one that leads, that die and come back in another session, some of
 * them after theirs was deleted; nodes that tell of containers which are not theirs; people who
 * create, delete and release at the node that leads. Conditions that must never occur:
 *
 *   leads     nothing is written by a node that does not lead, nor in its term, or whose session
 * has ended written   entries and operations follow one another as they may, a delta has what was
 * written active    an entry becomes active only after its owner has begun the container in its
 * epoch owner     a container begins only as an entry said, on its node, in its session and epoch,
 * with a token above all before; nothing moves to another node release   calls reach a container
 * only once its entry was active and its pool whole, on one node aside     a container that was
 * released is put aside again only after it was begun folder what a container had is gone before
 * its entry is order     each order has one end; other nodes take none map       a node's map is
 * that of the metastore at its revision rest      in the end every operation has ended, each
 * container of each pool serves on its node or is quarantined, nothing of other pools is left, and
 * all maps are equal
 */
#ifndef TESTS_SIMULATION_CLUSTER_LEAD_WORLD_H
#define TESTS_SIMULATION_CLUSTER_LEAD_WORLD_H

#include <stdint.h>

struct lead_world_figures {
    uint64_t lives, events, orders, ended, refused, transactions, conflicts;
    uint64_t begins, failed_begins, deaths, removals, restarts, leaders, readings;
    uint64_t reports, lost, repeated, forged, stale, cuts;
    uint64_t done[4], aborted[4];     /* operations, by kind */
    uint64_t quarantined, late, away; /* begins on nodes that do not lead */
    uint64_t deposed;                 /* another node led for a while */
    uint64_t trace;                   /* of the last life: a hash of all effects in their order */
};

/* Lives one life of `steps` events. NULL: nothing was broken; else the condition, with the seed.
 * The text is good until the next life. */
const char *lead_world_live(uint64_t seed, unsigned steps);

const struct lead_world_figures *lead_world_figures(void);

#endif
