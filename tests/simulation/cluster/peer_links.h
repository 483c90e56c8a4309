/* SPDX-License-Identifier: Apache-2.0 */
/* peer_links: the links between simulated nodes. A link has its frames in their order; some are
 * lost, some come again, long after. When it is cut nothing of it comes any more, and each end
 * learns of that in its own time; then it may come up anew. */
#ifndef TESTS_SIMULATION_CLUSTER_PEER_LINKS_H
#define TESTS_SIMULATION_CLUSTER_PEER_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/effects.h"

/* A node is told of a frame, or of its link to another one. */
struct peer_links_hooks {
    int (*frame)(uint32_t to, const struct cluster_peer_frame *frame, struct rapahub_bytes body);
    void (*link)(uint32_t node, uint32_t other, bool up);
};

/* No link is up, and nothing is under way. */
void peer_links_reset(const struct peer_links_hooks *hooks);

/* Sends what the effect says. */
void peer_links_send(uint32_t from, const struct cluster_effect *effect);

/* Returns when the next frame comes, or UINT64_MAX; and lets all come that are due. */
uint64_t peer_links_next(void);
void peer_links_deliver(void);

/* Cuts a link; and takes one step with each: its ends learn that it was cut, or that it is up. */
void peer_links_cut(uint32_t one, uint32_t other);
void peer_links_step(void);

/* A node is dead: its links are cut, and it learns of nothing. */
void peer_links_kill(uint32_t node);

#endif
