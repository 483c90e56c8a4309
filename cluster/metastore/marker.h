/* SPDX-License-Identifier: Apache-2.0 */
/* marker: gives the transactions of one life of a node their ids, and asks again for those whose
 * outcome is not known, until it is.
 *
 * A store remembers the outcome of CLUSTER_TXN_FLIGHT_MAX transactions of a client, each in the
 * slot that its number has modulo that. A repeated one has the number that it had at first, so it
 * never runs twice, and a slot gets another number only once the outcome of the last one is known.
 *
 * On the owner of the store. */
#ifndef CLUSTER_METASTORE_MARKER_H
#define CLUSTER_METASTORE_MARKER_H

#include "cluster/metastore/metastore.h"

struct cluster_marker;

/* `client` is cluster_txn_client of this life; two with the same number would take each other's
 * outcomes for their own. */
int cluster_marker_open(struct cluster_metastore *store, uint64_t client,
                        struct cluster_marker **out);

/* Does cluster_metastore_submit, but the id of the transaction is not looked at, and the callback
 * never gets CLUSTER_TXN_UNKNOWN. -EBUSY also where no slot is free. */
int cluster_marker_submit(struct cluster_marker *marker, const struct cluster_txn *txn,
                          cluster_on_txn *on_txn, void *user);

/* To be called after each cluster_metastore_step, with its time: sends again what is due. A
 * callback is called here only if the store takes nothing more: with CLUSTER_TXN_CORRUPT. */
void cluster_marker_step(struct cluster_marker *marker, uint64_t now_ns, uint64_t *out_next_ns);

/* After cluster_metastore_close. Each that waits to be sent again ends with CLUSTER_TXN_CLOSED.
 * NULL is ignored. */
void cluster_marker_close(struct cluster_marker *marker);

#endif
