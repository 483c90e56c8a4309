/* SPDX-License-Identifier: Apache-2.0 */
/* rules: the conditions that must never occur, checked with each decision; see world.h. */
#ifndef TESTS_SIMULATION_RULES_H
#define TESTS_SIMULATION_RULES_H

#include "host/supervise/supervisor.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/simulation/world.h"

#define PLACES    40
#define FAILURES  64
#define PARALLEL  3
#define BURST     6
#define EACH_NS   (50 * HUB_MILLISECOND)
#define DELAY_MAX (100 * HUB_MILLISECOND)
#define SETTLINGS 20000

/* The world's knowledge of a guest, without asking the machine. */
struct actor {
    uint32_t number;
    uint64_t incarnation; /* its process's; 0: none */
    uint64_t last;        /* its last one's */
    bool ready, asked, killed, stubborn;
    uint64_t failures[FAILURES]; /* times of those that count, of this child */
    uint32_t failures_count;
    uint64_t not_before_ns;
    bool failed; /* its last end was a failure of its own */
    bool freed;  /* a start was requested since */
};

struct world {
    uint64_t seed, now;
    struct hub_random random;
    struct host_machine machine;
    struct actor actors[PLACES];
    uint32_t guilty; /* the child whose failure is being decided, or HOST_TREE_NONE */
    uint64_t starts_ns[2 * BURST];
    uint64_t starts;
    uint32_t root;
    bool escalated; /* by this event a supervisor comes down */
    bool broken;
};

/* A decision of the machine is carried out as far as the world keeps books of it. */
void rules_decided(struct world *world, const struct host_decision *decision);

/* The first thing that is broken is what is reported. */
__attribute__((format(printf, 2, 3))) void rules_broke(struct world *world, const char *format,
                                                       ...);
const char *rules_report(void);
struct world_figures *rules_figures(void);

uint64_t rules_pick(struct world *world, uint64_t below); /* 0 to below - 1 */
bool rules_chance(struct world *world, unsigned percent);
struct host_child *rules_child(struct world *world, uint32_t place);
bool rules_lives(const struct actor *actor);
bool rules_serves(struct world *world, uint32_t place);

#endif
