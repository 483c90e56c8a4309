/* SPDX-License-Identifier: Apache-2.0 */
/* node_rules: the state of a simulated node's world, and the conditions that must never occur,
 * checked with each effect and after each event; see node_world.h. */
#ifndef TESTS_SIMULATION_CLUSTER_NODE_RULES_H
#define TESTS_SIMULATION_CLUSTER_NODE_RULES_H

#include <stdbool.h>

#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "hub/base/random.h"
#include "tests/simulation/cluster/node_world.h"
#include "tests/simulation/cluster/pool_record.h"

#define POOL       POOL_RECORD_NUMBER
#define CONTAINERS POOL_RECORD_CONTAINERS
#define NODE       1
#define CLIENTS    3
#define CALLS      4000 /* of a life */
#define RUNS       4000
#define REVISIONS  2000
#define LATER      40 /* deltas under way */
#define MS         UINT64_C(1000000)
#define SETTLE     4000

struct actor {
    struct cluster_entry entry; /* as the metastore has it */
    uint64_t revision;          /* that put it */
    bool here, serving, down;
    uint32_t life;
    uint64_t lineage;
    uint64_t tokens; /* count up */
};

struct call {
    struct cluster_send_call asked;
    uint32_t first, count; /* containers that it means; count 0: any of them */
    bool open, told_maybe, sent_again;
    uint32_t each; /* a bit for each container that has ended */
};

struct run {
    uint64_t id;
    uint32_t container;
    bool open, dead;
};

struct delta {
    uint64_t revision;
    size_t size;
    uint8_t bytes[256];
};

struct world {
    uint64_t seed, now, revision, seen;
    struct hub_random random;
    struct cluster_core *core;
    struct actor actors[CONTAINERS];
    struct cluster_entry snapshots[REVISIONS][CONTAINERS];
    struct call calls[CALLS];
    struct run runs[RUNS];
    struct delta later[LATER];
    uint32_t starts[CALLS][CONTAINERS]; /* by the first call with the uid */
    uint64_t numbers[CLIENTS];          /* the last of each */
    uint64_t timer;
    uint32_t calls_count, runs_count, later_count;
    bool wants_reading, broken;
};

extern struct world node_rules_world;
extern struct node_world_figures node_rules_figures;

/* The first thing that is broken is what is reported. */
__attribute__((format(printf, 1, 2))) void node_rules_broke(const char *format, ...);
const char *node_rules_report(void); /* NULL: nothing is broken */

uint32_t node_rules_draw(uint32_t below);

/* Returns the place of the first call with this uid. */
uint32_t node_rules_first(struct cluster_uid uid);

/* Tells the core of an event, and carries out what it wants. */
int node_rules_tell(struct cluster_event event);

void node_rules_check(void);

#endif
