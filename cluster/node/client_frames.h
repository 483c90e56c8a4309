/* SPDX-License-Identifier: Apache-2.0 */
/* client_frames: what the frames of a client do: it says who it is, makes calls, takes their ends.
 */
#ifndef CLUSTER_NODE_CLIENT_FRAMES_H
#define CLUSTER_NODE_CLIENT_FRAMES_H

#include "cluster/node/client_links.h"

/* The hooks of a client's connection. */
extern const struct cluster_connection_hooks cluster_client_frames_hooks;

/* Keeps the end of a call, or of one of its containers, and sends it if its client is there. */
void cluster_client_frames_end(struct cluster_clients *clients, struct cluster_origin_call *call,
                               uint8_t type, const struct cluster_clients_answer *answer);

/* Ends an origin: its calls are cancelled, and the core is told. */
void cluster_client_frames_end_origin(struct cluster_clients *clients,
                                      struct cluster_origin *origin);

#endif
