/* SPDX-License-Identifier: Apache-2.0 */
/* client_shared: calls that a client makes by shared memory. Each is one request, which is
 * answered by the end of the call, or by why it is not taken.
 */
#ifndef CLUSTER_NODE_CLIENT_SHARED_H
#define CLUSTER_NODE_CLIENT_SHARED_H

#include "cluster/node/client_links.h"

/* Takes a request. A failure: it breaks a rule, and is not answered. */
int cluster_client_shared_take(struct cluster_client *client, uint64_t request,
                               struct rapahub_bytes bytes);

#endif
