/* SPDX-License-Identifier: Apache-2.0 */
/* send_queue: the ring that a link sends through: what the peer is not shown yet, and the threads
 * that wait for space in it, in the order in which they came. Any thread. */
#ifndef HUB_LINK_SEND_QUEUE_H
#define HUB_LINK_SEND_QUEUE_H

#include "hub/link/link_state.h"

/* A thread that waits to send; on its stack. The first in the list looks for space. */
struct hub_send_place {
    struct hub_list link;
    struct hub_a32 first; /* 1: it is its turn, or the link closed */
    size_t size;          /* of its payload */
    bool told;            /* it knows of space and has not looked yet */
};

/* Shows the peer what was put into the ring: true where there was anything. What an entry that is
 * lost held back nobody will see. */
bool hub_send_queue_show(struct hub_link *link) REQUIRES(link->send);

/* Under the lock, what was put into the ring: held back where `more` is to follow and there is room
 * for that, else shown, and with it all before it: then true. */
bool hub_send_queue_show_or_hold(struct hub_link *link, bool more);

/* As hub_link_wake_receiver. */
void hub_send_queue_wake(struct hub_link *link);

/* Shows what is held back, and wakes the peer for it. */
void hub_send_queue_push(struct hub_link *link);

/* The link closed: all threads in the queue look again. */
void hub_send_queue_wake_all(struct hub_link *link);

/* Is there room for a message with such a payload? True for a tail that cannot be: to send reports
 * that. */
bool hub_send_queue_has_room(struct hub_link *link, size_t size) REQUIRES(link->send);

/* Is there space for the thread that has waited for it longest, and does it not know yet? */
bool hub_send_queue_space_came(struct hub_link *link);

/* Guest: the host shall look at once what this side has run out of. The second does it where there
 * is no slot at all that `size` bytes fit in: then true. */
void hub_send_queue_ring(struct hub_link *link);
bool hub_send_queue_ask(struct hub_link *link, size_t size);

#endif
