/* SPDX-License-Identifier: Apache-2.0 */
/* txns: transactions that are being built or are under way. A transaction is built piece by piece,
 * and the first piece that fails is told at its end.
 */
#ifndef CLUSTER_CORE_BASE_TXNS_H
#define CLUSTER_CORE_BASE_TXNS_H

#include <stdint.h>

#include "cluster/base/keys.h"
#include "cluster/base/txn.h"
#include "cluster/wire/record.h"

/* Bytes of the keys and values of a transaction: one value of the largest size, and a hundred small
 * ones. */
#define CLUSTER_TXNS_BYTES_MAX (CLUSTER_TXN_VALUE_MAX + 96 * 1024)

struct cluster_txns;

/* Makes space for `max` transactions, at most CLUSTER_TXN_FLIGHT_MAX. -ENOMEM. */
int cluster_txns_create(uint32_t max, struct cluster_txns **out);
void cluster_txns_release(struct cluster_txns **txns);

/* Begins a transaction and returns its place; 0: there are too many. */
uint32_t cluster_txns_take(struct cluster_txns *txns);

/* Gives a place back: its transaction has ended, or is not wanted. */
void cluster_txns_give(struct cluster_txns *txns, uint32_t place);

/* Adds that the last put of the key was at this revision; 0: that there is none. */
void cluster_txns_expect(struct cluster_txns *txns, uint32_t place, const struct cluster_key *key,
                         uint64_t revision);

/* Adds that the key was created at this revision. */
void cluster_txns_expect_created(struct cluster_txns *txns, uint32_t place,
                                 const struct cluster_key *key, uint64_t revision);

/* Adds a put of bytes, of a record of the key's kind, or a delete. */
void cluster_txns_put(struct cluster_txns *txns, uint32_t place, const struct cluster_key *key,
                      struct rapahub_bytes value);
void cluster_txns_put_record(struct cluster_txns *txns, uint32_t place,
                             const struct cluster_key *key, const struct cluster_record *record);
void cluster_txns_delete(struct cluster_txns *txns, uint32_t place, const struct cluster_key *key);

/* Ends the building. The transaction has no id; it is good until its place is given back.
 * -EMSGSIZE: it is too large; else the first failure. */
int cluster_txns_end(struct cluster_txns *txns, uint32_t place, const struct cluster_txn **out);

#endif
