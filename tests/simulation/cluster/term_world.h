/* SPDX-License-Identifier: Apache-2.0 */
/* term_world: 2 to 5 nodes of which one leads, and a metastore that says which, made from a seed.
 * Each has a clock of its own that goes wrong by one in 200 at most, hears of changes late, and has
 * its transactions carried out late, also when it has died meanwhile; nodes die and come back in
 * another session, stand still, and are cut off from the metastore. Whoever believes that it leads
 * writes. Conditions that must never occur:
 *
 *   writes   a transaction of a node that does not lead is carried out, or two nodes write in one
 *            term
 *   patient  the lead is taken from a node whose session was put less than a TTL ago
 *   calm     the lead changes hands while nothing fails
 *   rest     after a while in which nothing failed not exactly one node leads, or another one does
 *            not know which
 */
#ifndef TESTS_SIMULATION_CLUSTER_TERM_WORLD_H
#define TESTS_SIMULATION_CLUSTER_TERM_WORLD_H

#include <stdint.h>

#define TERM_WORLD_ANY UINT64_MAX /* a term that is not compared: for mutants */

struct term_world_figures {
    uint64_t lives, claims, refused_claims, taken, begun_anew; /* taken: of another node */
    uint64_t writes, refused_writes, deaths, stops, cuts;
    uint64_t without_most_ns; /* nobody led, and a node could have */
    uint64_t trace;
};

/* Lives one life of so many faults. NULL: nothing was broken; else the condition, with the seed.
 * The text is good until the next life. */
const char *term_world_live(uint64_t seed, unsigned faults);

const struct term_world_figures *term_world_figures(void);

#endif
