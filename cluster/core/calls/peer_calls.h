/* SPDX-License-Identifier: Apache-2.0 */
/* peer_calls: what other nodes say of calls, and what becomes of calls when a link comes up or is
 * lost, or a node has left. The caller has checked which node it is, its boot and its session.
 */
#ifndef CLUSTER_CORE_CALLS_PEER_CALLS_H
#define CLUSTER_CORE_CALLS_PEER_CALLS_H

#include <stdint.h>

#include "cluster/core/calls/send.h"

/* Bytes of an answer for which there is room when a call of another node is admitted. */
#define CLUSTER_PEER_CALLS_RESERVE 1024

/* The link to a node is up, in this session of it; or is lost, with all that was under way; or the
 * node has left the cluster. RAPAHUB_EFULL: there are too many nodes. */
int cluster_peer_calls_up(struct cluster_send *send, uint32_t node, uint64_t session,
                          uint64_t now_ns);
void cluster_peer_calls_lost(struct cluster_send *send, uint32_t node, uint64_t now_ns);
void cluster_peer_calls_left(struct cluster_send *send, uint32_t node, uint64_t now_ns);

/* Takes a frame of a node, and the body that came with it. A negative return refuses it: its body
 * stays the caller's, and the link ends, for what it was of would be lost. RAPAHUB_ESTATE: no link
 * to this node is up. -EBUSY: there is no room. */
int cluster_peer_calls_take(struct cluster_send *send, const struct cluster_peer_frame *frame,
                            const struct cluster_payload_body *body, uint64_t now_ns);

/* Says whether the counts of the peers are right, and within their limits. For tests: it looks at
 * everything. */
bool cluster_peer_calls_are_counted(const struct cluster_send *send);

#endif
