/* SPDX-License-Identifier: Apache-2.0 */
/* direct_call: a call that is sent and answered while its caller looks, without an entry that
 * others could see. */
#ifndef HUB_CALL_DIRECT_CALL_H
#define HUB_CALL_DIRECT_CALL_H

#include "hub/call/calls.h"
#include "hub/call/direct_slot.h"
#include "hub/shm/layout.h"

/* What became of it. */
enum hub_direct_outcome {
    HUB_DIRECT_REFUSED,  /* nothing was sent: it goes the ordinary way */
    HUB_DIRECT_ANSWERED, /* the message is the Response now; its payload is not checked, and is in
                            the answer where it was in a slot */
    HUB_DIRECT_SENT,     /* *number is that of the call, as after hub_calls_begin */
    HUB_DIRECT_IN_ANSWER /* of hub_direct_call_bytes: answered through a slot */
};

/* What it needs besides the message. */
struct hub_direct_order {
    uint64_t timeout_ns; /* from when the answer has not come at once; 0: the usual, */
    uint64_t usual_ns;
    struct hub_answer *answer;       /* and where it is put then, or what comes in a slot */
    bool looks_soon;                 /* as of hub_receiver_let_go */
    bool view;                       /* the answer may be shown where it lies */
    const struct hub_parts *payload; /* what is not inline, or in a loan; NULL: in the message */
    /* Of hub_direct_call_bytes, which is told apart whether it looks soon: the method, and
     * HUB_INLINE_SIZE bytes, for an inline Response. */
    uint64_t method_id;
    void *small;
};

/* `message` has the method and the payload of the Request, the rest 0. r[impl call.initiate]
 * r[impl hub.call.once] */
enum hub_direct_outcome hub_direct_call(struct hub_calls *calls, struct hub_descriptor *message,
                                        const struct hub_direct_order *order, uint64_t *number);

/* The same for a call of bytes without metadata, HUB_INLINE_SIZE - 2 of them at most: the size of
 * the payload of the Response, which is in order->small; or negative, and *end says what it is. */
struct hub_direct_end {
    enum hub_direct_outcome outcome;
    uint64_t of; /* the size of the payload of the Response; of HUB_DIRECT_SENT the call's number */
};
int hub_direct_call_bytes(struct hub_calls *calls, const struct rapahub_bytes *bytes,
                          const struct hub_direct_order *order, bool looks_soon,
                          struct hub_direct_end *end);

/* The same for a Request of order->method_id that lies in a loan, whose Response is shown where it
 * lies: REFUSED, ANSWERED with a view that is pinned, or SENT: then hub_direct_call_on is to follow
 * at once, for the receive token is still held. */
struct hub_direct_open {
    struct hub_call_entry *entry;
    struct hub_descriptor message; /* what was found instead of such a Response; type 0: nothing */
    uint32_t head;
    bool small;
};
enum hub_direct_outcome hub_direct_call_lent(struct hub_calls *calls,
                                             const struct hub_direct_order *order,
                                             const struct hub_direct_lent *lent,
                                             struct hub_direct_open *open, struct hub_view *view);

/* As hub_direct_call from there on: ANSWERED, or SENT. */
enum hub_direct_outcome hub_direct_call_on(struct hub_calls *calls, struct hub_direct_open *open,
                                           const struct hub_direct_order *order, uint64_t *number);

#endif
