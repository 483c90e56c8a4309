/* SPDX-License-Identifier: Apache-2.0 */
/* client_counts: what people are told of the clients of a node. Its clients count, and its lists
 * show it.
 */
#ifndef CLUSTER_NODE_BASE_CLIENT_COUNTS_H
#define CLUSTER_NODE_BASE_CLIENT_COUNTS_H

#include <stdint.h>

#include "cluster/base/rule_counts.h"

#define CLUSTER_CLIENT_COUNTS_ADDRESSES 8
#define CLUSTER_CLIENT_COUNTS_TEXT      64 /* bytes of an address, with its end */

struct cluster_client_counts {
    uint32_t connections; /* now */
    uint32_t remote;      /* connections over the network */
    uint32_t shared;      /* clients that have shared memory */
    uint64_t unshared;    /* times that a client asked for it and got none, since the start */
    uint64_t refused;     /* connections, since the start */
    uint32_t addresses_count;
    char addresses[CLUSTER_CLIENT_COUNTS_ADDRESSES][CLUSTER_CLIENT_COUNTS_TEXT]; /* listened at */
    struct cluster_rule_counts broken;
};

#endif
