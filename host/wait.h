/* SPDX-License-Identifier: Apache-2.0 */
/* wait: how the owner waits for what a turn may bring: it takes turns meanwhile. A turn reaches
 * every part of the host, and every part waits; so those that wait reach it through hooks.h. */
#ifndef HOST_WAIT_H
#define HOST_WAIT_H

#include <stdint.h>

#define HOST_WAIT_DEPTH_MAX 48 /* turns inside of turns; deeper ones call no embedder */

struct host_life;
struct rapahub_host;

/* Owner: waits at most so long for something to do, and does it: how many things, or -errno. The
 * caller holds what it uses, for anything may happen to the rest. */
int host_wait_turn(struct rapahub_host *host, int timeout_ms);

/* The same, at most until `deadline_ns`, by who waits for something: guests are looked at. */
int host_wait_until(struct rapahub_host *host, uint64_t deadline_ns);

/* Owner, who waits for a call of this life: without a turn, what the guest asks, and what it has
 * asked and is queued: how many, see nested.h. */
uint32_t host_wait_serve(struct rapahub_host *host, struct host_life *life, uint32_t most);
uint32_t host_wait_serve_queued(struct rapahub_host *host, struct host_life *life, uint32_t most);

#endif
