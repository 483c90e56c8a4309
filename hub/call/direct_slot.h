/* SPDX-License-Identifier: Apache-2.0 */
/* direct_slot: a message that hub_direct_look leaves where it is because its payload is in a slot:
 * the same for it, in two steps. What may be wrong with the descriptor is for the ordinary way to
 * judge; what is wrong with the slot ends the link, as there. Under the token. */
#ifndef HUB_CALL_DIRECT_SLOT_H
#define HUB_CALL_DIRECT_SLOT_H

#include "hub/link/link.h"
#include "hub/link/loan.h"
#include "hub/link/view.h"
#include "hub/shm/layout.h"
#include "hub/wire/postcard.h"

/* Of what hub_direct_look, which refused it, has left in `message`: is there one, of this `type`,
 * in a slot, and its descriptor as it should be? It is not taken yet. */
bool hub_direct_slot_look(const struct hub_link *link, enum hub_message_type type,
                          const struct hub_descriptor *message);

/* Sends a message with a payload that lies in a loan: it is gone then. False where anything else is
 * in the way: nothing was sent, and the loan is there. Under the lock of senders, and the token or
 * not. */
bool hub_direct_slot_send(struct hub_link *link, const struct hub_message *message,
                          const struct hub_parts *payload);

/* The same of the first `size` bytes of a loan, which has room for them, behind a few others: the
 * last `head_size` bytes of a word, at most 8. What is in front of them there is overwritten. */
struct hub_direct_lent {
    struct hub_loan *loan;
    size_t size;
    uint64_t head;
    uint32_t head_size;
};
bool hub_direct_slot_lend(struct hub_link *link, const struct hub_message *message,
                          const struct hub_direct_lent *lent);

/* Bytes of 0 and the length of what is lent, as they stand before it in most messages: false where
 * that has less than two bytes or more than three. */
static inline bool hub_direct_slot_head(struct hub_direct_lent *lent, uint32_t zeros)
{
    uint32_t word, count = hub_postcard_short_length(lent->size, &word);

    lent->head_size = zeros + count;
    lent->head = (uint64_t)word << ((64 - 8 * count) & 63);
    return count > 0;
}

/* Takes it: its payload is shown, or copied and its slot given back. False: the peer broke a rule,
 * and the link has closed. r[impl hub.violation] */
bool hub_direct_slot_show(struct hub_link *link, const struct hub_descriptor *message,
                          uint32_t head, struct hub_view *out);
bool hub_direct_slot_copy(struct hub_link *link, const struct hub_descriptor *message,
                          uint32_t head, void *to);

#endif
