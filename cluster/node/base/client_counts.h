/* SPDX-License-Identifier: Apache-2.0 */
/* client_counts: what people are told of the clients of a node. Its clients count, and its lists
 * show it.
 */
#ifndef CLUSTER_NODE_BASE_CLIENT_COUNTS_H
#define CLUSTER_NODE_BASE_CLIENT_COUNTS_H

#include <stdint.h>

struct cluster_client_counts {
    uint32_t shared;   /* clients that have shared memory */
    uint64_t unshared; /* times that a client asked for it and got none, since the start */
};

#endif
