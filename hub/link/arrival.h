/* SPDX-License-Identifier: Apache-2.0 */
/* arrival: what is taken off the ring together: several small Data of one channel, several small
 * answers; and large Data, in parts. */
#ifndef HUB_LINK_ARRIVAL_H
#define HUB_LINK_ARRIVAL_H

#include <stdint.h>

struct hub_descriptor;
struct hub_link;
struct hub_message;

/* How soon a reader should know of what came. */
enum hub_arrival_news {
    HUB_ARRIVAL_SILENT, /* nobody waits for it */
    HUB_ARRIVAL_SOON,   /* when no more comes */
    HUB_ARRIVAL_NOW     /* it is plenty */
};

/* Messages of one channel, one behind the other, each found well-formed. The payload of each is in
 * its descriptor, or there is one and its payload is in a slot. */
struct hub_arrival {
    struct hub_link *link;
    const struct hub_descriptor *list; /* private copies */
    uint32_t count;
};

/* Copies a part of the only payload. What is not copied before the end of the event nobody can have
 * any more. RAPAHUB_EPROTOCOL where the sender has re-used the slot. */
int hub_arrival_copy(const struct hub_arrival *arrival, uint32_t at, uint32_t size, void *to);

/* Under the token: hands up `message`, of which list[0] is the descriptor, and of the `most` in the
 * list those behind it that belong to it: how many that were, or RAPAHUB_EPROTOCOL. */
int hub_arrival_receive(struct hub_link *link, const struct hub_message *message,
                        const struct hub_descriptor *list, uint32_t most);

/* Under the token: nothing more comes now, so who was not told of each message is told. */
void hub_arrival_tell(struct hub_link *link);

/* Small Responses that stand one behind the other at the beginning of the list: how many were
 * taken, all at once. By the holder of the token. */
uint32_t hub_arrival_take_line(struct hub_link *link, const struct hub_descriptor *list,
                               uint32_t most);

#endif
