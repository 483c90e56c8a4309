/* SPDX-License-Identifier: Apache-2.0 */
/* id: ids of things that can die independently. Ids are values, never pointers; a stale id is
 * refused with RAPAHUB_ESTALE. */
#ifndef RAPAHUB_ID_H
#define RAPAHUB_ID_H

#include <stdint.h>

/* A pool: containers of one chimod that serve one purpose. {0, 0} is no pool. */
struct rapahub_pool_id {
    uint32_t major;
    uint32_t minor;
};

/* A container of a pool. */
struct rapahub_container_id {
    struct rapahub_pool_id pool;
    uint32_t container;
};

/* A life of a guest. A restarted guest has a new id. */
struct rapahub_guest_id {
    uint64_t group; /* shared by guests of one segment; unique in the host, never reused */
    uint32_t epoch; /* rises with each life in the same entry of the peer table */
    uint32_t peer;  /* 1 to 255; 0 is no guest */
};

/* A node of a cluster. */
struct rapahub_node_id {
    uint64_t number;
};
#define RAPAHUB_NODE_ANY ((struct rapahub_node_id){0}) /* lets the cluster choose */

/* The call of one who repeats it until it is answered: the number is the same each time, and no
 * other call of this origin has it. {0, 0} is none. */
struct rapahub_uid {
    uint64_t origin; /* its maker */
    uint64_t number; /* its number there */
};

/* An open call, for rapahub_host_cancel. {0} is none; numbers are never reused. */
struct rapahub_request_id {
    uint64_t number;
};

#endif
