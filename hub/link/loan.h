/* SPDX-License-Identifier: Apache-2.0 */
/* loan: a slot that its owner fills before there is a message: the bytes are sent in place, and not
 * copied on this side. */
#ifndef HUB_LINK_LOAN_H
#define HUB_LINK_LOAN_H

#include <stddef.h>
#include <stdint.h>

#include "hub/shm/slot_class.h"

struct hub_descriptor;
struct hub_link;
struct hub_parts;

#define HUB_LOAN_HEAD 60 /* bytes of a message that may precede the loan's */

/* A slot on loan. From hub_loan_take on it belongs to the caller, one thread at a time, until a
 * message was sent with it (hub_parts.loan) or it was dropped. */
struct hub_loan {
    uint8_t *data;             /* a multiple of 64; NULL: sent, or dropped */
    size_t room;               /* bytes from there on */
    struct hub_slot_loan slot; /* the slot with the data */
};

/* Lends a slot for at least `size` bytes, without waiting. Returns 0; -EAGAIN, without a diagnosis,
 * if there is none now; -EMSGSIZE, -EBUSY (too many loans), -ENOSPC as for hub_link_send,
 * RAPAHUB_ESTALE. Any thread. r[impl hub.loan.align] */
int hub_loan_take(struct hub_link *link, size_t size, struct hub_loan *out);

/* Returns the slot unsent; harmless if it is gone. The link may have closed meanwhile, but must not
 * have been released. Any thread. */
void hub_loan_drop(struct hub_link *link, struct hub_loan *loan);

/* For the sender: makes a message whose tail is in the loan, which is consumed; -EMSGSIZE if it is
 * not. */
int hub_loan_place(struct hub_link *link, const struct hub_parts *payload,
                   struct hub_descriptor *descriptor);

/* For a caller that fills in the descriptor itself, before it becomes visible: consumes the
 * loan. */
void hub_loan_sent(struct hub_link *link, struct hub_loan *loan);

#endif
