/* SPDX-License-Identifier: Apache-2.0 */
/* direct_call: a call that is sent and answered while its caller spins, without an entry that other
 * threads could see. */
#ifndef HUB_CALL_DIRECT_CALL_H
#define HUB_CALL_DIRECT_CALL_H

#include "hub/call/calls.h"
#include "hub/call/direct_slot.h"
#include "hub/shm/layout.h"

/* The outcome of such a call. */
enum hub_direct_outcome {
    HUB_DIRECT_REFUSED, /* nothing was sent: it goes the ordinary way */
    /* the message is the Response now; its payload is not checked, and is in the answer if it was
     * in a slot */
    HUB_DIRECT_ANSWERED,
    HUB_DIRECT_SENT,     /* *number is the call's, as after hub_calls_begin */
    HUB_DIRECT_IN_ANSWER /* for hub_direct_call_bytes: answered through a slot */
};

/* The parameters besides the message. */
struct hub_direct_order {
    uint64_t timeout_ns; /* counted from when the answer has not come at once; 0: usual_ns */
    uint64_t usual_ns;
    struct hub_answer *answer; /* receives the answer then, and also an answer in a slot */
    bool looks_soon;           /* as for hub_receiver_let_go */
    bool view;                 /* the answer may be shown in place */
    /* a payload that is not inline, or in a loan; NULL: in the message */
    const struct hub_parts *payload;
    /* For hub_direct_call_bytes, which gets `looks_soon` separately: the method, and
     * HUB_INLINE_SIZE bytes for an inline Response. */
    uint64_t method_id;
    void *small;
};

/* Makes the call. `message` has the method and the payload of the Request, the rest 0.
 * r[impl call.initiate] r[impl hub.call.once] */
enum hub_direct_outcome hub_direct_call(struct hub_calls *calls, struct hub_descriptor *message,
                                        const struct hub_direct_order *order, uint64_t *number);

/* The same for a call of bytes without metadata, at most HUB_INLINE_SIZE - 2 of them. Returns the
 * size of the payload of the Response, which is in order->small; or a negative number, and *end has
 * the outcome. */
struct hub_direct_end {
    enum hub_direct_outcome outcome;
    uint64_t of; /* size of the Response's payload; for HUB_DIRECT_SENT the call's number */
};
int hub_direct_call_bytes(struct hub_calls *calls, const struct rapahub_bytes *bytes,
                          const struct hub_direct_order *order, bool looks_soon,
                          struct hub_direct_end *end);

/* The same for a Request of order->method_id in a loan, whose Response is shown in place: REFUSED,
 * ANSWERED with a view that is pinned, or SENT: then hub_direct_call_on must follow at once,
 * because the receive token is still held. */
struct hub_direct_open {
    struct hub_call_entry *entry;
    struct hub_descriptor message; /* the message found instead of such a Response; type 0: none */
    uint32_t head;
    bool small;
};
enum hub_direct_outcome hub_direct_call_lent(struct hub_calls *calls,
                                             const struct hub_direct_order *order,
                                             const struct hub_direct_lent *lent,
                                             struct hub_direct_open *open, struct hub_view *view);

/* Continues like hub_direct_call from there: ANSWERED, or SENT. */
enum hub_direct_outcome hub_direct_call_on(struct hub_calls *calls, struct hub_direct_open *open,
                                           const struct hub_direct_order *order, uint64_t *number);

#endif
