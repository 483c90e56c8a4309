/* SPDX-License-Identifier: Apache-2.0 */
/* receive_batch: receives several messages of the ring together: several small Data of one channel,
 * several small answers; and large Data in parts. */
#ifndef HUB_LINK_RECEIVE_BATCH_H
#define HUB_LINK_RECEIVE_BATCH_H

#include <stdint.h>

struct hub_descriptor;
struct hub_link;
struct hub_message;

/* How soon a reader should learn of a message. */
enum hub_receive_batch_news {
    HUB_RECEIVE_BATCH_SILENT, /* no thread waits for it */
    HUB_RECEIVE_BATCH_SOON,   /* when no more comes */
    HUB_RECEIVE_BATCH_NOW     /* at once: it is plenty */
};

/* Consecutive messages of one channel, each found well-formed. The payload of each is in its
 * descriptor, or there is only one and its payload is in a slot. */
struct hub_receive_batch {
    struct hub_link *link;
    const struct hub_descriptor *list; /* private copies */
    uint32_t count;
};

/* Copies a part of the only payload. Bytes that are not copied before the end of the event are
 * lost. RAPAHUB_EPROTOCOL if the sender has reused the slot. */
int hub_receive_batch_copy(const struct hub_receive_batch *arrival, uint32_t at, uint32_t size,
                           void *to);

/* Passes `message`, whose descriptor is list[0], to the room above, together with those of the
 * `most` in the list that follow and belong to it. Returns their number, or RAPAHUB_EPROTOCOL.
 * Under the token. */
int hub_receive_batch_receive(struct hub_link *link, const struct hub_message *message,
                              const struct hub_descriptor *list, uint32_t most);

/* No more comes now: tells the readers that were not told of each message. Under the token. */
void hub_receive_batch_tell(struct hub_link *link);

/* Receives consecutive small Responses at the beginning of the list, all at once, and returns their
 * number. Under the token. */
uint32_t hub_receive_batch_take_line(struct hub_link *link, const struct hub_descriptor *list,
                                     uint32_t most);

#endif
