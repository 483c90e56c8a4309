/* SPDX-License-Identifier: Apache-2.0 */
/* share: what a guest may call, how many of the calls under way it may have, and what holds back an
 * admitted one that comes again and again. Owner. */
#ifndef HOST_CALL_SHARE_H
#define HOST_CALL_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/id.h>

struct host_guest;
struct host_life;
struct host_registry;

/* Says whether the life may call this container, or, `queried`, those of its pool that a query
 * means. RAPAHUB_EACCES: it was admitted for one container only. */
int host_share_check(const struct host_life *life, struct rapahub_container_id target,
                     bool queried);

/* Returns how many requests of this life the host may have sent on at once. Guests of each kind
 * have equal shares, which those of the other kind do not lessen. */
uint32_t host_share_of(const struct host_registry *registry, const struct host_life *life);

/* A request of the life was sent on: an admitted guest, which is returned, keeps its entry of the
 * guest table until host_share_unpin, when the request has ended. NULL for any other. */
struct host_guest *host_share_pin(const struct host_life *life);
void host_share_unpin(struct host_guest **guest);

#endif
