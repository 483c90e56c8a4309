/* SPDX-License-Identifier: Apache-2.0 */
/* direct_call: a call that is sent and answered while its caller spins, without an entry that other
 * threads could see. */
#ifndef HUB_CALL_DIRECT_CALL_H
#define HUB_CALL_DIRECT_CALL_H

#include "hub/call/calls.h"

/* How such a call ended, or did not end yet. */
enum hub_direct_outcome {
    HUB_DIRECT_REFUSED,   /* nothing was sent: it goes the ordinary way */
    HUB_DIRECT_ANSWERED,  /* the payload of the Response is in order->small, not checked */
    HUB_DIRECT_IN_ANSWER, /* it came in a slot, and is in order->answer: copied, or as a view */
    HUB_DIRECT_SENT       /* it is a call as after hub_calls_begin */
};
struct hub_direct_end {
    enum hub_direct_outcome outcome;
    uint64_t of; /* size of the Response's payload; for HUB_DIRECT_SENT the call's number */
};

/* The parameters besides the payload. */
struct hub_direct_order {
    uint64_t method_id;
    uint64_t timeout_ns; /* counted from when the answer has not come at once; 0: usual_ns */
    uint64_t usual_ns;
    void *small;               /* HUB_INLINE_SIZE bytes for an inline Response */
    struct hub_answer *answer; /* for one in a slot, and for one that comes later */
    bool view;                 /* the answer may be shown in place */
};

/* Makes the call. If it is refused, the payload and its loan are as before. `looks_soon`: as for
 * hub_direct_end. r[impl call.initiate] r[impl hub.call.once] */
struct hub_direct_end hub_direct_call(struct hub_calls *calls, const struct hub_parts *payload,
                                      const struct hub_direct_order *order, bool looks_soon);

/* The same for a call of bytes without metadata, at most HUB_INLINE_SIZE - 2 of them. Returns the
 * size of the payload of the Response, which is in order->small; or a negative number, and *end has
 * the outcome. */
int hub_direct_call_bytes(struct hub_calls *calls, const struct rapahub_bytes *bytes,
                          const struct hub_direct_order *order, bool looks_soon,
                          struct hub_direct_end *end);

#endif
