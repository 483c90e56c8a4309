/* SPDX-License-Identifier: Apache-2.0 */
/* orders: people ask for pools to be made, deleted, released, and wait for the end of that. Each
 * order ends once. One that changes something ends when its operation is durable.
 */
#ifndef CLUSTER_CORE_OPS_ORDERS_H
#define CLUSTER_CORE_OPS_ORDERS_H

#include <stdint.h>

#include <rapahub/value.h>

enum cluster_orders_kind {
    CLUSTER_ORDER_APPLY,   /* there shall be a pool as `spec` says */
    CLUSTER_ORDER_DELETE,  /* there shall be no pool with this name */
    CLUSTER_ORDER_RELEASE, /* a container of it shall be begun, although that failed too often */
    CLUSTER_ORDER_WAIT,    /* ends with the operation, as it does */
    CLUSTER_ORDER_KINDS
};

struct cluster_orders_order {
    uint8_t kind;
    uint32_t container;            /* RELEASE */
    uint64_t number;               /* the asker's name for it; no open one has it */
    uint64_t operation;            /* WAIT */
    struct rapahub_string pool;    /* DELETE, RELEASE: its name */
    struct rapahub_bytes spec;     /* APPLY: see pool_spec.h */
    struct rapahub_bytes digest;   /* APPLY: SHA-256 of `spec` */
    struct rapahub_bytes manifest; /* APPLY: the MODULE record of the module that it names */
};

#endif
