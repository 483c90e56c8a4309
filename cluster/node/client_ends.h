/* SPDX-License-Identifier: Apache-2.0 */
/* client_ends: the ends of the calls of clients: kept, and told by the way by which a call came.
 */
#ifndef CLUSTER_NODE_CLIENT_ENDS_H
#define CLUSTER_NODE_CLIENT_ENDS_H

#include "cluster/node/client_links.h"

/* Keeps the end of a call, or of one of its containers, and tells its client if that is there. */
void cluster_client_ends_tell(struct cluster_clients *clients, struct cluster_origin_call *call,
                              uint8_t type, const struct cluster_clients_answer *answer);

/* The same for a call that has failed, with the diagnosis. */
void cluster_client_ends_fail(struct cluster_clients *clients, struct cluster_origin_call *call,
                              int code);

/* Sends the ends that are to be sent by the socket, as far as there is credit. */
void cluster_client_ends_send(struct cluster_client *client);

/* Ends an origin: its calls are cancelled, and the core is told. */
void cluster_client_ends_origin(struct cluster_clients *clients, struct cluster_origin *origin);

#endif
