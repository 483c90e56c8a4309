/* SPDX-License-Identifier: Apache-2.0 */
/* send_queue: the ring through which a link sends: its unpublished messages, and the threads that
 * wait for space in it, in the order of their arrival. Any thread. */
#ifndef HUB_LINK_SEND_QUEUE_H
#define HUB_LINK_SEND_QUEUE_H

#include "hub/link/link_state.h"

/* A thread that waits to send; on its stack. The first in the list checks for space. */
struct hub_send_place {
    struct hub_list link;
    struct hub_a32 first; /* 1: it is its turn, or the link closed */
    size_t size;          /* bytes of its payload */
    bool told;            /* it was told of space and has not checked yet */
};

/* Publishes the messages in the ring: true if there were any. Messages held back in a lost entry
 * are never seen. */
bool hub_send_queue_show(struct hub_link *link) REQUIRES(link->send);

/* Under the lock, for messages just put into the ring: holds them back if `more` follows and there
 * is space for that; else publishes them and all before: then true. */
bool hub_send_queue_show_or_hold(struct hub_link *link, bool more);

/* Like hub_link_wake_receiver. */
void hub_send_queue_wake(struct hub_link *link);

/* Publishes messages that are held back, and wakes the peer for them. */
void hub_send_queue_push(struct hub_link *link);

/* The link closed: all threads in the queue check again. */
void hub_send_queue_wake_all(struct hub_link *link);

/* Says whether there is space for a message with such a payload. True for an impossible tail, which
 * sending then reports. */
bool hub_send_queue_has_room(struct hub_link *link, size_t size) REQUIRES(link->send);

/* Says whether there is space for the thread that has waited longest, and it does not know yet. */
bool hub_send_queue_space_came(struct hub_link *link);

/* Guest: makes the host check at once which slots this side lacks. The second function does it if
 * there is no slot at all for `size` bytes: then true. */
void hub_send_queue_ring(struct hub_link *link);
bool hub_send_queue_ask(struct hub_link *link, size_t size);

#endif
