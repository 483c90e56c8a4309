/* SPDX-License-Identifier: Apache-2.0 */
/* client_arrivals: programs connect, by the Unix socket or over the network, and become clients of
 * the node, each with the role that it has; or they are turned away, and told why.
 */
#ifndef CLUSTER_NODE_CLIENT_ARRIVALS_H
#define CLUSTER_NODE_CLIENT_ARRIVALS_H

#include "cluster/node/client_links.h"

/* Takes what has come by an event of a listener or of a handshake. A failure is one of a listener.
 */
int cluster_client_arrivals_take(struct cluster_clients *clients, uint32_t tag);

/* Listens again where there were no descriptors, and ends handshakes whose time is over. */
void cluster_client_arrivals_do_due(struct cluster_clients *clients, uint64_t now_ns);

#endif
