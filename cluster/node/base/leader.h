/* SPDX-License-Identifier: Apache-2.0 */
/* leader: the node that leads, as this one knows it. Owner.
 */
#ifndef CLUSTER_NODE_BASE_LEADER_H
#define CLUSTER_NODE_BASE_LEADER_H

#include <stdint.h>

#define CLUSTER_LEADER_ADDRESS 320

struct cluster_leader {
    uint32_t node;                        /* 0: this one */
    uint32_t authority;                   /* the node that has the authority; 0: this one */
    uint64_t term;                        /* since this revision; 0: for ever */
    char address[CLUSTER_LEADER_ADDRESS]; /* HOST:PORT, for orders; "": none is known */
};

#endif
