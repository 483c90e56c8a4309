/* SPDX-License-Identifier: Apache-2.0 */
/* lead_rules: the state of the world around several nodes, one of which leads, and the conditions
 * that must never occur; see lead_world.h. */
#ifndef TESTS_SIMULATION_CLUSTER_LEAD_RULES_H
#define TESTS_SIMULATION_CLUSTER_LEAD_RULES_H

#include <stdbool.h>

#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "hub/base/random.h"
#include "tests/simulation/cluster/lead_world.h"
#include "tests/simulation/cluster/store_model.h"

#define NODES      5
#define LEADER     1
#define NAMES      3
#define MS         UINT64_C(1000000)
#define CONTAINERS 400 /* of all pools of a life */
#define EPOCHS     128 /* of a container, in a life */
#define ORDERS     400
#define OPERATIONS 400
#define WORKS      400
#define CHANGES    2000 /* of the metastore, in a life */
#define TOLD       300  /* reports that are under way */
#define REPORT     512

struct begins { /* a container, on a node, over all lives of that */
    uint64_t token, epoch;
    bool up, begun, released, folder, left;
    uint8_t kept; /* how often its folder could not be removed in this life of the node */
};

struct epoch { /* an entry, as it was first written in this epoch */
    uint32_t owner;
    uint64_t session;
    uint8_t state;
    bool begun, active;
};

struct container {
    uint64_t pool;
    uint32_t container;
    bool poisoned; /* it fails to begin */
    struct begins on[NODES + 1];
    struct epoch epochs[EPOCHS];
};

struct order {
    uint8_t kind;
    uint64_t operation;
    bool open;
};

struct work { /* a begin or a removal that has not been answered */
    struct cluster_effect effect;
    uint32_t node;
    bool died; /* while it began */
};

struct transaction {
    const struct cluster_txn *txn; /* NULL: none is under way */
    uint64_t id, revision;
    int status;
    bool ran;
};

struct change {   /* what the nodes are told of the metastore, in this order */
    uint8_t kind; /* enum cluster_event_kind: POOL, DELTA, NODE */
    uint64_t revision, pool, session;
    uint32_t node, size; /* size 0: it is gone */
    uint8_t bytes[2048];
};

struct told { /* a report, as bytes */
    uint64_t at_ns, session;
    uint32_t from, link, size;
    uint8_t bytes[REPORT];
};

struct node {
    struct cluster_core *core; /* NULL: it is dead */
    uint64_t timer, session;
    uint32_t boot, told;
    uint32_t link; /* to the node that leads; 0: it is cut */
    bool wants_reading;
};

struct lead_rules_world {
    uint64_t seed, now, module, term;
    struct hub_random random;
    uint32_t nodes, links;
    struct node node[NODES + 1];
    struct transaction transaction;
    struct order orders[ORDERS];
    struct work works[WORKS];
    uint8_t operation_states[OPERATIONS];
    bool refused[OPERATIONS];
    uint32_t containers_count, orders_count, works_count, changes_count, reports_count, open_orders;
    bool broken, healed;
    struct store_model store;
    struct container containers[CONTAINERS];
    struct change changes[CHANGES];
    struct told reports[TOLD];
};

extern struct lead_rules_world lead_rules_world;
extern struct lead_world_figures lead_rules_figures;

/* The first thing that is broken is what is reported. */
__attribute__((format(printf, 1, 2))) void lead_rules_broke(const char *format, ...);
const char *lead_rules_report(void); /* NULL: nothing is broken */

uint32_t lead_rules_draw(uint32_t below);
bool lead_rules_fails(uint32_t once_in); /* until all is healed */
void lead_rules_mix(uint64_t bits);

/* Return a container, which is made if need be; and, in `out`, the entry or the pool that the
 * metastore has. False: it has none. */
struct container *lead_rules_container(uint64_t pool, uint32_t container);
bool lead_rules_entry(uint64_t pool, uint32_t container, struct cluster_entry *out);
bool lead_rules_pool(uint64_t pool, struct cluster_record *out);

/* Check a transaction that is about to happen, and effects of a node. */
void lead_rules_check_txn(const struct cluster_txn *txn);
void lead_rules_begins(uint32_t n, const struct cluster_effect *effect);
void lead_rules_releases(uint32_t n, const struct cluster_effect *effect);
void lead_rules_ordered(const struct cluster_effect *effect);

/* Check a node after a step, and what must be in the end. */
void lead_rules_check_node(uint32_t n);
void lead_rules_check_rest(void);

#endif
