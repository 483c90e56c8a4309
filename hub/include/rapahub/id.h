/* SPDX-License-Identifier: Apache-2.0 */
/* id: names of what can die by itself. They are values, never pointers; a stale one is refused with
 * RAPAHUB_ESTALE. */
#ifndef RAPAHUB_ID_H
#define RAPAHUB_ID_H

#include <stdint.h>

/* A pool: containers of one chimod with one purpose. {0, 0} is no pool. */
struct rapahub_pool_id {
    uint32_t major;
    uint32_t minor;
};

/* One container of a pool. */
struct rapahub_container_id {
    struct rapahub_pool_id pool;
    uint32_t container;
};

/* One life of a guest. A restarted guest has another id. */
struct rapahub_guest_id {
    uint64_t group; /* of guests that share a segment; unique in the host, never used again */
    uint32_t epoch; /* rises with each life in the same entry of the peer table */
    uint32_t peer;  /* 1 to 255; 0 is no guest */
};

/* A node of a cluster. */
struct rapahub_node_id {
    uint64_t number;
};
#define RAPAHUB_NODE_ANY ((struct rapahub_node_id){0}) /* let the cluster choose */

/* A call under way, for rapahub_host_cancel. {0} is none; numbers are never used again. */
struct rapahub_request_id {
    uint64_t number;
};

#endif
