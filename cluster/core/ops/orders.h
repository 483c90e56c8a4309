/* SPDX-License-Identifier: Apache-2.0 */
/* orders: people ask for pools to be made, deleted, released, and wait for the end of that. Each
 * order ends once. One that changes something ends when its operation is durable.
 */
#ifndef CLUSTER_CORE_OPS_ORDERS_H
#define CLUSTER_CORE_OPS_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/core/ops/context.h"
#include "cluster/core/ops/operations.h"

#define CLUSTER_ORDERS_MAX 1024 /* open at once */

enum cluster_orders_kind {
    CLUSTER_ORDER_APPLY,   /* there shall be a pool as `spec` says */
    CLUSTER_ORDER_DELETE,  /* there shall be no pool with this name */
    CLUSTER_ORDER_RELEASE, /* a container of it shall be begun, although that failed too often */
    CLUSTER_ORDER_WAIT,    /* ends with the operation, as it does */
    CLUSTER_ORDER_DEAD,    /* a node is dead: what it had begins elsewhere */
    CLUSTER_ORDER_LEAVE,   /* a node is to end, and what it has begins elsewhere, for ever */
    CLUSTER_ORDER_KINDS
};

struct cluster_orders_order {
    uint8_t kind;
    uint32_t container;            /* RELEASE */
    uint32_t node;                 /* DEAD, LEAVE */
    bool discard;                  /* the same: also what is kept on its disk alone, without that */
    uint64_t number;               /* the asker's name for it; no open one has it */
    uint64_t operation;            /* WAIT */
    struct rapahub_string pool;    /* DELETE, RELEASE: its name */
    struct rapahub_bytes spec;     /* APPLY: see pool_spec.h */
    struct rapahub_bytes digest;   /* APPLY: SHA-256 of `spec` */
    struct rapahub_bytes manifest; /* APPLY: the MODULE record of the module that it names */
    uint64_t module_revision;      /* APPLY: the last put of that record */
};

struct cluster_orders;

/* Makes a table of CLUSTER_ORDERS_MAX orders. -ENOMEM. */
int cluster_orders_create(struct cluster_orders **out);
void cluster_orders_release(struct cluster_orders **orders);

/* Says whether an order with this number may begin: RAPAHUB_EEXIST where an open one has it, -EBUSY
 * where there are too many. */
int cluster_orders_check(const struct cluster_orders *orders, const struct cluster_context *context,
                         uint64_t number);

/* Begins an order, which was checked: it ends with an operation, when that is durable, or when it
 * has ended. */
void cluster_orders_begin(struct cluster_orders *orders, struct cluster_context *context,
                          const struct cluster_orders_order *order, uint64_t operation);

/* Ends an order that was checked at once: nothing was to be done, and this operation, or none, had
 * done it. */
void cluster_orders_end_at_once(struct cluster_context *context, uint64_t number,
                                uint64_t operation);

/* Ends an open order, -ECANCELED: it is not looked at any more. -ENOENT. */
int cluster_orders_cancel(struct cluster_orders *orders, struct cluster_context *context,
                          uint64_t number);

/* Ends the orders whose operations have come so far. */
void cluster_orders_settle(struct cluster_orders *orders, struct cluster_context *context,
                           const struct cluster_operations *operations);

/* How an order ends. */
struct cluster_orders_outcome {
    int32_t status;
    const char *text;
};

/* Ends all orders of an operation, with a failure or with 0; of every one, if it is 0. */
void cluster_orders_end_all(struct cluster_orders *orders, struct cluster_context *context,
                            uint64_t operation, int32_t status, const char *text);

uint32_t cluster_orders_count(const struct cluster_orders *orders);

#endif
