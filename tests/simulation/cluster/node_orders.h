/* SPDX-License-Identifier: Apache-2.0 */
/* node_orders: calls of a simulated node's clients that have an order, and the condition that must
 * never occur:
 *
 *   order     a call runs in a life of a container before an open call of the same order that was
 *             submitted before it
 */
#ifndef TESTS_SIMULATION_CLUSTER_NODE_ORDERS_H
#define TESTS_SIMULATION_CLUSTER_NODE_ORDERS_H

#include "tests/simulation/cluster/node_rules.h"

/* Gives some calls an order, before they are told. */
void node_orders_choose(struct cluster_send_call *asked);

/* A run of this call starts in a container: checks it against the others. */
void node_orders_check(struct cluster_uid uid, uint32_t container);

/* A life of the world begins. */
void node_orders_reset(void);

#endif
