/* SPDX-License-Identifier: Apache-2.0 */
/* client_frames: what the frames of a client do: it says who it is, makes calls, takes their ends,
 * asks for shared memory.
 */
#ifndef CLUSTER_NODE_CLIENT_FRAMES_H
#define CLUSTER_NODE_CLIENT_FRAMES_H

#include "cluster/node/client_links.h"

/* The hooks of a client's connection. */
extern const struct cluster_connection_hooks cluster_client_frames_hooks;

#endif
