/* SPDX-License-Identifier: Apache-2.0 */
/* lead_store: the metastore of several simulated nodes: what is written to it, and what each node
 * is told of it. */
#ifndef TESTS_SIMULATION_CLUSTER_LEAD_STORE_H
#define TESTS_SIMULATION_CLUSTER_LEAD_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_txn;

/* A node has another session, or, with `gone`, none: that is written, and told to all. */
void lead_store_session(uint32_t n, bool gone);

/* The record of the module of all pools is written; and that of the node that leads. */
void lead_store_module(void);
void lead_store_lead(void);

/* Carries out a transaction; what follows is told later. Returns enum cluster_txn_status. */
int lead_store_run(const struct cluster_txn *txn);

/* Tells a node of the next change; of one of before; of all nodes; and of all that there is. */
struct change;
void lead_store_deliver(uint32_t n);
void lead_store_deliver_again(uint32_t n, const struct change *change);
void lead_store_tell_nodes(uint32_t n);
void lead_store_read(uint32_t n);

/* This node leads from here on, which may be one that is not of this world: the node that led so
 * far is told, if it lives. */
void lead_store_change_lead(uint32_t lead);

#endif
