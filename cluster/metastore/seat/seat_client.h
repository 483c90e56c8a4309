/* SPDX-License-Identifier: Apache-2.0 */
/* seat_client: the metastore of a node that has none itself, but a link to the node that has: to
 * the seat. It is opened as "seat:HOST:PORT", with the functions of the link among the options; the
 * link may be down then, and may go and come again as often as it likes.
 *
 * Operations that are begun while the link is down wait for it, at most ten seconds. Their time
 * begins with the first step that sees them, so the owner steps once more before it waits. No time
 * but that of the step, no random number, no thread, no descriptor. */
#ifndef CLUSTER_METASTORE_SEAT_CLIENT_H
#define CLUSTER_METASTORE_SEAT_CLIENT_H

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/seat/seat_link.h"

/* Compaction and backup end with CLUSTER_TXN_DENIED: the seat's own node does both. */
extern const struct cluster_metastore_end cluster_seat_client_end;

/* The link is there. Nothing of an earlier one comes any more. */
void cluster_seat_client_link_up(struct cluster_metastore *store);

/* The link is gone: a transaction that went by it ends with CLUSTER_TXN_UNKNOWN at the next step.
 * All else goes on by the next link. */
void cluster_seat_client_link_down(struct cluster_metastore *store);

/* A STORE_REPLY or a STORE_EVENT has come. A failure, with its diagnosis: it can be none, and the
 * link is to be ended. RAPAHUB_EPROTOCOL, RAPAHUB_EFORMAT, RAPAHUB_EFULL, -ENOMEM. */
int cluster_seat_client_frame(struct cluster_metastore *store, uint8_t type,
                              const struct cluster_body *body);

#endif
