/* SPDX-License-Identifier: Apache-2.0 */
/* wait: how the owner waits for what a turn may bring: it takes turns meanwhile. A turn reaches
 * every part of the host, and every part waits; so those that wait reach it through a table. */
#ifndef HOST_OWNER_WAIT_H
#define HOST_OWNER_WAIT_H

#include <stdint.h>

#define HOST_WAIT_DEPTH_MAX 48 /* turns inside of turns; deeper ones call no embedder */

struct host_owner;

/* A turn of the loop, and one that ends at a deadline: what the two functions below call. Constant
 * and complete from the moment a host is made. */
struct host_turns {
    int (*turn)(struct host_owner *host, int timeout_ms);
    int (*until)(struct host_owner *host, uint64_t deadline_ns);
};

/* Owner: waits at most so long for something to do, and does it: how many things, or -errno. The
 * caller holds what it uses, for anything may happen to the rest. */
int host_wait_turn(struct host_owner *host, int timeout_ms);

/* The same, at most until `deadline_ns`, by who waits for something: guests are looked at. */
int host_wait_until(struct host_owner *host, uint64_t deadline_ns);

#endif
