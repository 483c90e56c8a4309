/* SPDX-License-Identifier: Apache-2.0 */
/* ops: the operations of a node: it creates, restarts and deletes pools, and says to people what
 * became of their orders. It acts by what is so, and by no memory of what it did: after a crash it
 * goes on from what the metastore has.
 */
#ifndef CLUSTER_CORE_OPS_OPS_H
#define CLUSTER_CORE_OPS_OPS_H

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/lives.h"
#include "cluster/core/ops/orders.h"
#include "cluster/wire/body.h"

/* A new operation whose transaction has not happened so often is given up. */
#define CLUSTER_OPS_ATTEMPTS_MAX 6

struct cluster_ops;

/* Makes the operations of a node; the context is copied, and what it names lives longer. -ENOMEM.
 */
int cluster_ops_create(const struct cluster_context *context, uint64_t secret,
                       struct cluster_ops **out);
void cluster_ops_release(struct cluster_ops **ops);

struct cluster_ops_start {
    uint64_t session; /* see cluster_session_start */
    uint32_t boot, generation;
    uint32_t lead; /* node; 0: this one */
    uint64_t term; /* the last put of the record that says so; 0: there is none */
};

/* All that the metastore has was told. A node that does not lead writes nothing. */
int cluster_ops_start(struct cluster_ops *ops, const struct cluster_ops_start *start);

/* Another node leads now, or this one, in a term: since this revision. 0 leads: none does. `up`:
 * the link to that node is up. A node that begins to lead reads all anew first; one that ends ends
 * its orders with RAPAHUB_EAGAIN. */
void cluster_ops_lead(struct cluster_ops *ops, uint32_t lead, uint64_t term, bool up);

/* The metastore has this, see cluster_operations_put. */
int cluster_ops_take_operation(struct cluster_ops *ops, uint64_t number, uint64_t revision,
                               const struct cluster_record_operation *record);
int cluster_ops_take_next_pool(struct cluster_ops *ops, uint64_t next, uint64_t revision);

/* A node, as the metastore has it. */
struct cluster_ops_node {
    uint32_t node;
    uint64_t session;                         /* 0: it has none */
    uint64_t revision;                        /* its record's last put */
    const struct cluster_record_node *record; /* NULL: it is no node any more */
};

/* The metastore has this, see cluster_nodes_put, cluster_recoveries_put. */
int cluster_ops_take_node(struct cluster_ops *ops, const struct cluster_ops_node *told);
int cluster_ops_take_recovery(struct cluster_ops *ops, const struct cluster_key *key,
                              uint64_t revision, const struct cluster_record_operation *record);

/* The warden of a node says that its daemon is dead, see cluster_recover_death. RAPAHUB_EAGAIN:
 * this node does not lead, or does not know all yet. */
int cluster_ops_take_death(struct cluster_ops *ops, uint32_t node, uint64_t session, bool final);

/* The detection of this node holds another one for dead, or does no more: that one gets no
 * containers. */
void cluster_ops_hold_dead(struct cluster_ops *ops, uint32_t node, bool dead);

/* A node tells how far it is with a container, see cluster_owners_take; the link to a node is up,
 * or lost. */
int cluster_ops_take_report(struct cluster_ops *ops, uint32_t node, uint64_t session,
                            const struct cluster_body_step_done *done);
void cluster_ops_link(struct cluster_ops *ops, uint32_t node, bool up);

/* Begins an order. A negative return refuses it, and nothing is told of it later. */
int cluster_ops_order(struct cluster_ops *ops, const struct cluster_orders_order *order);
int cluster_ops_cancel(struct cluster_ops *ops, uint64_t number);

/* A transaction, a begin or a removal has ended: -ENOENT where none has this id. */
int cluster_ops_stored(struct cluster_ops *ops, uint64_t id, int32_t status, uint64_t revision);
int cluster_ops_begun(struct cluster_ops *ops, const struct cluster_lives_answer *answer);
int cluster_ops_removed(struct cluster_ops *ops, const struct cluster_lives_answer *answer);

/* The guest of a container is dead. */
void cluster_ops_down(struct cluster_ops *ops, uint64_t pool, uint32_t container);

/* The map or a pool has changed. */
void cluster_ops_changed(struct cluster_ops *ops);

/* Sets the time, which does not go back: before all that is told at it. */
void cluster_ops_set_time(struct cluster_ops *ops, uint64_t now_ns);

/* Does what follows from what has changed, and what is due. */
void cluster_ops_step(struct cluster_ops *ops);

/* Returns when something is due, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_ops_next(const struct cluster_ops *ops);

/* What operations share with the parts of the core above them; good as long as the operations. */
const struct cluster_context *cluster_ops_context(const struct cluster_ops *ops);

/* For lists, and for checks. */
const struct cluster_operations *cluster_ops_operations(const struct cluster_ops *ops);
const struct cluster_lives *cluster_ops_lives(const struct cluster_ops *ops);
uint32_t cluster_ops_orders(const struct cluster_ops *ops); /* open */

#endif
