/* SPDX-License-Identifier: Apache-2.0 */
/* batch: small elements of one channel, written while it is corked, joined to one as long as the
 * peer does not see it. A descriptor behind the published head is still ours to write: so what was
 * joined is there whoever publishes, and nothing must be flushed before a wait. How a stream is cut
 * into elements is its sender's affair. r[impl hub.ring.cork] */
#ifndef HUB_LINK_BATCH_H
#define HUB_LINK_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/atomic.h"
#include "hub/shm/layout.h"

struct hub_link;

#define HUB_BATCH_BYTES 2048 /* of an element that was joined; two of them fit a small slot */

/* Of one channel, under the link's lock of senders, but for a look at `data` by who writes the
 * channel. Zeroed: none. */
struct hub_batch {
    bool any, full;
    uint32_t place;                   /* in the ring, free-running */
    uint32_t count;                   /* elements in it */
    uint32_t size;                    /* bytes, without the length */
    uint32_t room;                    /* of its slot */
    uint32_t joined;                  /* bytes on the wire of what was sent last; 0: it was not */
    uint8_t *data;                    /* in its slot; NULL: they are in the descriptor */
    struct hub_descriptor descriptor; /* as it stands in the ring */
};

/* Appends bytes: true where they were joined, and nothing need be sent. One that is full then is to
 * be shown. */
bool hub_batch_join(struct hub_link *link, struct hub_batch *batch, struct rapahub_bytes bytes);

/* A message of one element was put at the end of the ring. */
void hub_batch_begin(struct hub_link *link, struct hub_batch *batch,
                     const struct hub_descriptor *descriptor, struct rapahub_bytes bytes);

/* The common case of that, with the lock: appends to one that is in a slot and does not become
 * full, as long as the gate is open: bytes on the wire, or 0 where it is to be sent as any. */
uint32_t hub_batch_append(struct hub_link *link, struct hub_batch *batch,
                          struct rapahub_bytes bytes, const struct hub_a32 *gate);

#endif
