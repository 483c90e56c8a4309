/* SPDX-License-Identifier: Apache-2.0 */
/* ops_rules: the state of the world around a node's operations, and the conditions that must never
 * occur; see ops_world.h. */
#ifndef TESTS_SIMULATION_CLUSTER_OPS_RULES_H
#define TESTS_SIMULATION_CLUSTER_OPS_RULES_H

#include <stdbool.h>

#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "hub/base/random.h"
#include "tests/simulation/cluster/ops_world.h"
#include "tests/simulation/cluster/store_model.h"

#define NODE       1
#define NAMES      4
#define MS         UINT64_C(1000000)
#define ACTORS     600
#define ORDERS     600
#define OPERATIONS 600 /* of a life */
#define WORKS      200
#define LATER      40

struct actor { /* a container of a pool, over all lives of the node */
    uint64_t pool;
    uint32_t container;
    uint64_t token, lineage; /* the highest token, the last lineage */
    bool up, begun, released, folder;
    bool poisoned; /* it fails to begin */
    uint8_t kept;  /* how often its folder could not be removed in this life of the node */
};

struct order {
    struct cluster_orders_order asked;
    bool open;
};

struct work { /* a begin or a removal that has not been answered */
    struct cluster_effect effect;
    bool died; /* while it began */
};

struct transaction {
    const struct cluster_txn *txn; /* NULL: none is under way */
    uint64_t id, revision;
    int status;
    bool ran;
};

struct delta {
    uint64_t revision;
    uint32_t size;
    uint8_t bytes[STORE_MODEL_VALUE];
};

struct ops_rules_world {
    uint64_t seed, now, timer, session, numbers;
    uint32_t boot;
    struct hub_random random;
    struct cluster_core *core;
    struct store_model store;
    struct transaction transaction;
    struct actor actors[ACTORS];
    struct order orders[ORDERS];
    struct work works[WORKS];
    struct delta later[LATER];
    uint8_t operation_states[OPERATIONS];
    bool used[OPERATIONS];    /* majors of pools */
    bool refused[OPERATIONS]; /* operations of orders that were told as not done */
    uint32_t actors_count, orders_count, works_count, later_count, open_orders;
    uint64_t pools;  /* the highest number */
    uint64_t module; /* revision of the last put of its record */
    bool module_goes;
    bool wants_reading, broken, healed;
};

extern struct ops_rules_world ops_rules_world;
extern struct ops_world_figures ops_rules_figures;

/* The first thing that is broken is what is reported. */
__attribute__((format(printf, 1, 2))) void ops_rules_broke(const char *format, ...);
const char *ops_rules_report(void); /* NULL: nothing is broken */

uint32_t ops_rules_draw(uint32_t below);
struct actor *ops_rules_actor(uint64_t pool, uint32_t container); /* it is made, if need be */

/* Look the entry or the pool up in the metastore. False: it is not there. */
bool ops_rules_entry(uint64_t pool, uint32_t container, struct cluster_entry *out);
bool ops_rules_pool(uint64_t pool, struct cluster_record *out);

/* Says whether the module of all pools is in the metastore. */
bool ops_rules_has_module(void);

/* Says whether a transaction is made from a record of it that is not there any more. */
bool ops_rules_lost_module(const struct cluster_txn *txn);

/* Check a transaction before it runs, the metastore after it, and the node's map. */
void ops_rules_check_txn(const struct cluster_txn *txn);
void ops_rules_check_store(void);
void ops_rules_check_map(void);

/* Check effects. */
void ops_rules_begins(const struct cluster_effect *effect);
void ops_rules_releases(const struct cluster_effect *effect);
void ops_rules_ordered(const struct cluster_effect *effect);

/* Checks what must be in the end. */
void ops_rules_check_rest(void);

#endif
