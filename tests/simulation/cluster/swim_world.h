/* SPDX-License-Identifier: Apache-2.0 */
/* swim_world: many detectors of dead nodes, with a network between them that loses, delays and is
 * cut, out of a seed. Its time is the test's.
 */
#ifndef TESTS_SIMULATION_CLUSTER_SWIM_WORLD_H
#define TESTS_SIMULATION_CLUSTER_SWIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/swim/swim.h"

#define SWIM_MS     UINT64_C(1000000)
#define SWIM_SECOND UINT64_C(1000000000)

struct swim_world;

struct swim_figures {
    uint64_t sent, bytes;     /* datagrams */
    uint64_t pushed;          /* bytes of whole views */
    uint64_t false_deaths;    /* found by a node of a member that lives and is not cut off */
    uint64_t suspected_first; /* when a member that was killed was first suspected; 0: not yet */
    uint64_t trace;           /* the same for two worlds of one seed */
};

/* A world of `nodes` that know each other; `options` but for node, session and seed. */
struct swim_world *swim_world_make(uint32_t nodes, const struct cluster_swim_options *options,
                                   uint64_t seed);
void swim_world_free(struct swim_world *world);

/* Lets time pass. */
void swim_world_run(struct swim_world *world, uint64_t span_ns);
uint64_t swim_world_now(const struct swim_world *world);

/* From now on: so many of 1,000 datagrams are lost. */
void swim_world_lose(struct swim_world *world, uint32_t per_mille);

/* Links between nodes answer no more. */
void swim_world_break_links(struct swim_world *world);

/* Numbers of nodes are 1 to `nodes`. */
void swim_world_kill(struct swim_world *world, uint32_t node);
void swim_world_begin_again(struct swim_world *world, uint32_t node); /* in a later session */
void swim_world_leave(struct swim_world *world, uint32_t node);

/* Nodes of different groups do not reach each other. All are in group 0 at first. */
void swim_world_put(struct swim_world *world, uint32_t node, uint32_t group);

/* The node is stopped for `span_ns` again and again, and runs for `runs_ns` between. 0: no more. */
void swim_world_stall(struct swim_world *world, uint32_t node, uint64_t span_ns, uint64_t runs_ns);

/* Says whether each node that lives holds the member for this state. */
bool swim_world_all_hold(const struct swim_world *world, uint32_t node, uint32_t state);

/* Says whether all nodes that live hold the same of all members: those that live for alive. */
bool swim_world_views_are_equal(const struct swim_world *world);

struct cluster_swim *swim_world_node(struct swim_world *world, uint32_t node);
struct swim_figures *swim_world_figures(struct swim_world *world);

#endif
