/* SPDX-License-Identifier: Apache-2.0 */
/* copies_rules: the state of a node with copies and its world, and the conditions that are checked
 * with each effect; see node_copies.h. */
#ifndef TESTS_SIMULATION_CLUSTER_COPIES_RULES_H
#define TESTS_SIMULATION_CLUSTER_COPIES_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/core.h"
#include "hub/base/random.h"
#include "tests/simulation/cluster/node_copies.h"
#include "tests/simulation/cluster/pool_record.h"

#define POOL       POOL_RECORD_NUMBER
#define CONTAINERS POOL_RECORD_CONTAINERS
#define LINEAGE    cluster_ids_lineage(1, 0)
#define CLIENTS    3
#define CALLS      600 /* of a life, with those that are nested */
#define JOBS       4000
#define DISK       16 /* copies in a file */
#define BYTES      150000
#define MS         UINT64_C(1000000)
#define ANSWER     700 /* bytes of a large answer, which is outside */

struct call {
    struct cluster_send_call asked;
    uint32_t container, parent; /* parent: of a nested call, + 1 */
    uint32_t nested;            /* the call that it makes to be answered, + 1 */
    bool open, answered, over;  /* over: its client does not ask again */
};

struct job { /* a run in a guest */
    uint64_t id, chain;
    uint32_t call, container;
    bool open, dead, waits, ran;
};

struct copy {
    bool done[CALLS];
    bool whole;
    size_t size;
    uint8_t bytes[BYTES];
};

struct actor {
    bool here, serves;
    uint32_t life;
    uint8_t done[CALLS]; /* how often the state has a call */
    /* The copy that is under way. */
    uint64_t copying, token, seq, durable_seq;
    bool saved, whole;
    struct copy taken;
    /* The disk. */
    uint32_t count;
    struct copy disk[DISK];
};

struct world {
    uint64_t seed, now, timer, numbers[CLIENTS + 1], starts;
    struct hub_random random;
    struct cluster_core *core;
    struct actor actors[CONTAINERS];
    struct call calls[CALLS];
    struct job jobs[JOBS];
    uint32_t calls_count, jobs_count;
    bool broken;
};

extern const struct cluster_limits copies_rules_limits;
extern struct world copies_rules_world;
extern struct node_copies_figures copies_rules_figures;

/* The first thing that is broken is what is reported. */
__attribute__((format(printf, 1, 2))) void copies_rules_broke(const char *format, ...);
const char *copies_rules_report(void); /* NULL: nothing is broken */

uint32_t copies_rules_draw(uint32_t below);

/* Returns the place of the call with this uid. */
uint32_t copies_rules_find(struct cluster_uid uid);

/* Tells the core of an event, and carries out what it wants. */
int copies_rules_tell(struct cluster_event event);

/* A life of a container ends, begins, and serves, with a copy if `covered` is not 0. The core is
 * told of its end; its operations would do the rest, and are not there. */
void copies_rules_end_life(uint32_t c);
void copies_rules_begin_life(uint32_t c);
void copies_rules_serve(uint32_t c, uint64_t covered);

#endif
