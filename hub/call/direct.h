/* SPDX-License-Identifier: Apache-2.0 */
/* direct: the steps of a small call at both ends when nothing interferes: no message is held back,
 * waited for or left over, no other thread receives, and the peer is awake on another CPU. Then a
 * Request, or a Response, of one descriptor is sent and received without the queues and batches for
 * all other messages. If any of this is not so, these functions refuse before they have done
 * anything, and the caller goes the ordinary way. */
#ifndef HUB_CALL_DIRECT_H
#define HUB_CALL_DIRECT_H

#include "hub/link/link.h"
#include "hub/shm/layout.h"

/* hub_direct_begin acquires the receive token if there is nothing older to receive; `in_line`:
 * except messages in the ring, which are received first. hub_direct_end releases it: like
 * hub_receiver_let_go, for a side that checks again soon by itself. */
bool hub_direct_begin(struct hub_link *link, bool in_line);
void hub_direct_end(struct hub_link *link, bool looks_soon);

/* Says whether a message of this type may be sent at once: no thread waits to send, nothing has
 * ended, and a guest that has said goodbye takes no new work. Under the lock of senders.
 * r[impl shm.goodbye.guest] */
bool hub_direct_may_send(struct hub_link *link, uint8_t type);

/* Sends the message, whose type, id, method and inline payload are set, the rest 0. Under the lock
 * of senders; then hub_direct_unlock. r[impl shm.payload.inline] */
bool hub_direct_send(struct hub_link *link, struct hub_descriptor *message);

/* The same for nothing but bytes, written where the peer reads them: `zeros` bytes of 0, a byte
 * with their number, which is at most HUB_INLINE_SIZE - 1 - zeros, and the bytes. */
bool hub_direct_send_bytes(struct hub_link *link, const struct hub_message *message, uint32_t zeros,
                           struct rapahub_bytes bytes);

/* Releases that lock, and wakes the peer if a message was `sent` that it may see. */
void hub_direct_unlock(struct hub_link *link, bool sent);

/* Like hub_direct_send for one of several messages, after those held back. 1: sent, and the
 * receiver must be woken; 0: held back, because `more` follow; -EAGAIN if it cannot be sent like
 * this. */
int hub_direct_put(struct hub_link *link, struct hub_descriptor *message, bool more);

/* Looks a few times for a next message. True if it is one of this `type`, well-formed, with its
 * payload inline: a private copy is in `to`, and it is not consumed yet. *head is for
 * hub_direct_take. A refused message is in `to` as well; type 0: there is none. Under the token. */
bool hub_direct_look(struct hub_link *link, enum hub_message_type type, struct hub_descriptor *to,
                     uint32_t *head);

/* The same for a Request: if true its payload is at `payload`, which has space for HUB_INLINE_SIZE
 * bytes, and the rest is here. Otherwise `to` is as hub_direct_look leaves it, except for the
 * inline bytes. */
struct hub_direct_request {
    uint32_t id, size; /* bytes of the payload */
    uint64_t method_id;
    uint32_t head;
};
bool hub_direct_look_at_request(struct hub_link *link, struct hub_descriptor *to, void *payload,
                                struct hub_direct_request *request);

/* Consumes the message. True if others are known to follow it. */
bool hub_direct_take(struct hub_link *link, const struct hub_descriptor *message, uint32_t head);

/* The same for a message known to be inline, of this size. */
bool hub_direct_take_inline(struct hub_link *link, uint32_t size, uint32_t head);

/* Looks for a next message like hub_direct_look if none is known yet, and consumes it if it has
 * this type and id and its payload is inline: the payload is copied to `to`, which has space for
 * HUB_INLINE_SIZE bytes, and its size is returned. -EAGAIN if there is no message, -ENOMSG if there
 * is another one. */
int hub_direct_fetch(struct hub_link *link, enum hub_message_type type, uint32_t id, void *to);

#endif
