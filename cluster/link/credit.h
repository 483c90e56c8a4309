/* SPDX-License-Identifier: Apache-2.0 */
/* credit: how many bytes two sides may have under way to each other. The body of a call may begin
 * while some credit is left, and may take more than is left: so a body of any allowed size gets
 * through. The bytes of a stream never take more than is left.
 */
#ifndef CLUSTER_LINK_CREDIT_H
#define CLUSTER_LINK_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_credit {
    int64_t whole;    /* bytes that each side has at first, and at most */
    int64_t left;     /* bytes that this side may still send */
    int64_t granted;  /* bytes that the other side may still send */
    int64_t consumed; /* bytes of it that were taken and are not yet given back */
};

void cluster_credit_init(struct cluster_credit *credit, uint32_t whole);

/* Neither side may send anything before the other one gives it credit. Before all else. */
void cluster_credit_withhold(struct cluster_credit *credit);

/* Says whether this side may begin to send a body. */
bool cluster_credit_may_send(const struct cluster_credit *credit);
void cluster_credit_sent(struct cluster_credit *credit, uint64_t bytes);

/* The other side gives back credit. RAPAHUB_EPROTOCOL: more than it was sent. */
int cluster_credit_gain(struct cluster_credit *credit, uint32_t bytes);

/* The other side begins a body. RAPAHUB_EPROTOCOL: it has no credit for that. */
int cluster_credit_begin(const struct cluster_credit *credit);
void cluster_credit_received(struct cluster_credit *credit, uint64_t bytes);

/* The same for bytes of a stream. RAPAHUB_EPROTOCOL: they are more than there was credit for. */
int cluster_credit_take(struct cluster_credit *credit, uint64_t bytes);

/* Received bytes have been taken. Returns how many to give back now, or 0: small amounts wait. */
uint32_t cluster_credit_consume(struct cluster_credit *credit, uint64_t bytes);

#endif
