/* SPDX-License-Identifier: Apache-2.0 */
/* direct: what both ends of a small call do where nothing else is in the way: no message is held
 * back, waited for or left over, nobody else receives, and the peer is awake on another CPU. Then a
 * Request, or a Response, of one descriptor is sent and received without the queues and batches
 * that are there for all the others. Where any of this is not so these refuse before they have done
 * anything, and the caller goes the ordinary way. */
#ifndef HUB_CALL_DIRECT_H
#define HUB_CALL_DIRECT_H

#include "hub/link/link.h"
#include "hub/shm/layout.h"

/* Takes the receive token where there is nothing older to receive; `in_line`: but for what stands
 * in the ring, and is looked at first. The end gives it back: as hub_receiver_let_go, for a side
 * that looks again soon by itself. */
bool hub_direct_begin(struct hub_link *link, bool in_line);
void hub_direct_end(struct hub_link *link, bool looks_soon);

/* May a message of this type go at once? Nobody waits to send, nothing has ended, and a guest that
 * has said goodbye takes no new work. Under the lock of senders. r[impl shm.goodbye.guest] */
bool hub_direct_may_send(struct hub_link *link, uint8_t type);

/* Sends the message, whose type, id, method and inline payload are set, the rest 0. Under the lock
 * of senders; then hub_direct_unlock. r[impl shm.payload.inline] */
bool hub_direct_send(struct hub_link *link, struct hub_descriptor *message);

/* The same for bytes and nothing else, written where the peer reads them: `zeros` bytes of 0, one
 * of their number, which is HUB_INLINE_SIZE - 1 - zeros at most, and they. */
bool hub_direct_send_bytes(struct hub_link *link, const struct hub_message *message, uint32_t zeros,
                           struct rapahub_bytes bytes);

/* Gives that lock back, and wakes the peer where a message was `sent` that it may see. */
void hub_direct_unlock(struct hub_link *link, bool sent);

/* The same as hub_direct_send for one of several, behind what is held back: 1: sent, and the
 * receiver is to be woken; 0: held back, for `more` follow; -EAGAIN where it cannot be sent so. */
int hub_direct_put(struct hub_link *link, struct hub_descriptor *message, bool more);

/* Looks a few times for a next message. True where it is one of this `type`, as it should be, with
 * its payload inline: a private copy is in `to`, and it is not taken yet. *head is for
 * hub_direct_take. Under the token. What it refuses stands in `to` as well; type 0: there is none.
 */
bool hub_direct_look(struct hub_link *link, enum hub_message_type type, struct hub_descriptor *to,
                     uint32_t *head);

/* The same of a Request: where it is true its payload is at `payload`, which has room for
 * HUB_INLINE_SIZE bytes, and the rest is here. In the other case `to` is as hub_direct_look leaves
 * it, but for what is inline. */
struct hub_direct_request {
    uint32_t id, size; /* of the payload */
    uint64_t method_id;
    uint32_t head;
};
bool hub_direct_look_at_request(struct hub_link *link, struct hub_descriptor *to, void *payload,
                                struct hub_direct_request *request);

/* True where others are known to stand behind it. */
bool hub_direct_take(struct hub_link *link, const struct hub_descriptor *message, uint32_t head);

/* The same where it is known to be inline: of this size. */
bool hub_direct_take_inline(struct hub_link *link, uint32_t size, uint32_t head);

/* Looks for a next message as hub_direct_look where none is known yet, and takes it where it is of
 * this type and this id, with its payload inline: that is put into `to`, which has room for
 * HUB_INLINE_SIZE bytes, and its size is returned. -EAGAIN where there is no message, -ENOMSG where
 * there is another one. */
int hub_direct_fetch(struct hub_link *link, enum hub_message_type type, uint32_t id, void *to);

#endif
