/* SPDX-License-Identifier: Apache-2.0 */
/* wait: how the owner waits: it takes turns meanwhile. A turn calls every part of the host, and
 * every part waits; so the parts call it through a table. */
#ifndef HOST_OWNER_WAIT_H
#define HOST_OWNER_WAIT_H

#include <stdint.h>

#define HOST_WAIT_DEPTH_MAX 48 /* nested turns; deeper ones call no embedder */

struct host_owner;

/* The functions that the two below call: a turn of the loop, and one that ends at a deadline.
 * Constant and complete from the creation of the host on. */
struct host_turns {
    int (*turn)(struct host_owner *host, int timeout_ms);
    int (*until)(struct host_owner *host, uint64_t deadline_ns);
};

/* Owner: waits at most `timeout_ms` for something to do, and does it. Returns the number of things
 * done, or -errno. Anything may be freed meanwhile that the caller does not hold. */
int host_wait_turn(struct host_owner *host, int timeout_ms);

/* The same, at most until `deadline_ns`, for a caller that waits for one event: it checks the
 * guests, too. */
int host_wait_until(struct host_owner *host, uint64_t deadline_ns);

/* There is work that a turn finds: the owner's loop is woken, unless the owner itself says so in a
 * turn, which does the work before it ends. Any thread. */
void host_wait_again(struct host_owner *host);

/* Owner: it may sleep before the turn ends. So it is woken for what it has said. */
void host_wait_settle(struct host_owner *host);

#endif
