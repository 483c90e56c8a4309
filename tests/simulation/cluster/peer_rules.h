/* SPDX-License-Identifier: Apache-2.0 */
/* peer_rules: the state of simulated nodes and of the world around them, and the conditions that
 * must never occur; see peer_world.h. */
#ifndef TESTS_SIMULATION_CLUSTER_PEER_RULES_H
#define TESTS_SIMULATION_CLUSTER_PEER_RULES_H

#include <stdbool.h>

#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "hub/base/random.h"
#include "tests/simulation/cluster/peer_world.h"
#include "tests/simulation/cluster/pool_record.h"

#define POOL       POOL_RECORD_NUMBER
#define CONTAINERS POOL_RECORD_CONTAINERS
#define NODES      5 /* at most; their numbers are from 1 */
#define CLIENTS    3
#define CALLS      600 /* of a life */
#define RUNS       2000
#define REVISIONS  600
#define FRAMES     600 /* under way */
#define MS         UINT64_C(1000000)

struct actor { /* a container; its owner is 1 + its number mod nodes */
    struct cluster_entry entry;
    uint64_t revision; /* that put it */
    bool here, serving, down;
    uint32_t life;
    uint64_t token, lineage;
};

struct call {
    struct cluster_send_call asked;
    uint32_t node, boot;   /* that sees to it */
    uint32_t first, count; /* containers that it means */
    bool several;          /* it ends in each of them */
    bool open, told_maybe, sent_again;
    bool given_up;               /* it has ended otherwise than with an answer */
    bool overlaps;               /* it was sent while one with its uid was open */
    uint32_t each;               /* a bit for each container that has ended */
    uint32_t starts[CONTAINERS]; /* of the first call with the uid */
    uint64_t ran[CONTAINERS];    /* token of the life that it ran in last; likewise */
};

struct run {
    uint64_t id, token;
    uint32_t node, boot, container, call;
    bool open, dead, ended;
};

struct delta {
    uint64_t revision;
    size_t size;
    uint8_t bytes[256];
};

struct node {
    struct cluster_core *core;
    uint32_t boot;
    uint64_t session;
    uint64_t offset;  /* of its clock */
    uint64_t timer;   /* by its clock */
    uint64_t numbers; /* the last in the uids of its own calls */
    uint32_t told;    /* deltas that it was told of, or need not be */
    bool wants_reading;
};

struct world {
    uint64_t seed, now, revision;
    struct hub_random random;
    uint32_t nodes, calls_count, runs_count, deltas_count;
    struct node node[NODES + 1];
    struct actor actors[CONTAINERS];
    struct call calls[CALLS];
    struct run runs[RUNS];
    struct delta deltas[REVISIONS];
    uint64_t numbers[CLIENTS]; /* the last of each */
    bool broken, calm;         /* calm: no more faults */
};

extern struct world peer_rules_world;
extern struct peer_world_figures peer_rules_figures;

/* The first thing that is broken is what is reported. */
__attribute__((format(printf, 1, 2))) void peer_rules_broke(const char *format, ...);
const char *peer_rules_report(void); /* NULL: nothing is broken */

uint32_t peer_rules_draw(uint32_t below);

/* Adds to the hash of all that has happened. */
void peer_rules_mix(uint64_t bits);

/* Returns the node that owns a container, and what a node's clock says. */
uint32_t peer_rules_owner(uint32_t container);
uint64_t peer_rules_clock(uint32_t node);

/* Check effects of a node: a run that begins, and what a caller is told. */
void peer_rules_start(uint32_t node, const struct cluster_effect *effect);
void peer_rules_each(uint32_t node, const struct cluster_effect *effect);
void peer_rules_answer(uint32_t node, const struct cluster_effect *effect);

/* Checks a node after an event, and all calls. */
void peer_rules_check(uint32_t node);
void peer_rules_check_late(void);

#endif
