/* SPDX-License-Identifier: Apache-2.0 */
/* loan: a slot that its owner fills before there is a message: what is written there is sent as it
 * lies, and copied by nobody on this side. */
#ifndef HUB_LINK_LOAN_H
#define HUB_LINK_LOAN_H

#include <stddef.h>
#include <stdint.h>

struct hub_descriptor;
struct hub_link;
struct hub_parts;

#define HUB_LOAN_HEAD 60 /* bytes of a message that may stand before the loan's */

/* One slot. From hub_loan_take on it is the taker's, one thread at a time, until a message was sent
 * with it (hub_parts.loan) or it was dropped. */
struct hub_loan {
    uint8_t *data; /* a multiple of 64; NULL: sent, or dropped */
    size_t room;   /* bytes from there on */
    uint32_t slot, generation;
    uint8_t *first; /* of the slot's payload area */
};

/* A slot for at least `size` bytes: 0; -EAGAIN, without a diagnosis, where there is none now: it
 * never waits; -EMSGSIZE, -EBUSY (too many are out), -ENOSPC as hub_link_send, RAPAHUB_ESTALE. Any
 * thread.
 * r[impl hub.loan.align] */
int hub_loan_take(struct hub_link *link, size_t size, struct hub_loan *out);

/* Gives it back unsent; harmless for one that is gone. The link may have closed meanwhile, but must
 * not have been released. Any thread. */
void hub_loan_drop(struct hub_link *link, struct hub_loan *loan);

/* For the sender: makes a message whose tail lies in the loan, which is gone then; -EMSGSIZE where
 * it does not. */
int hub_loan_place(struct hub_link *link, const struct hub_parts *payload,
                   struct hub_descriptor *descriptor);

/* For who fills the descriptor itself, before that can be seen: the loan is gone. */
void hub_loan_sent(struct hub_link *link, struct hub_loan *loan);

#endif
