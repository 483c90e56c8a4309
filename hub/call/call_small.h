/* SPDX-License-Identifier: Apache-2.0 */
/* call_small: begins an asynchronous call whose Request is one descriptor, in one step under the
 * lock. It can do less than hub_calls_begin and costs less, for the case of many such calls under
 * way. */
#ifndef HUB_CALL_CALL_SMALL_H
#define HUB_CALL_CALL_SMALL_H

#include "hub/call/calls.h"
#include "hub/shm/layout.h"

struct hub_call_small {
    uint64_t deadline_ns;
    struct hub_answer *answer; /* belongs to the caller until its end is told */
    hub_calls_done *done;
    void *user;
    bool more; /* others follow at once: see struct hub_parts */
};

/* Enters the call and sends the message, whose method and inline payload are set, the rest 0.
 * Returns 0 and the call's number; -EAGAIN, also if it is not known whether there is space: nothing
 * was sent and nothing remains, and hub_calls_begin succeeds or gives the reason. Any thread. */
int hub_call_small_begin(struct hub_calls *calls, struct hub_descriptor *message,
                         const struct hub_call_small *call, uint64_t *number);

#endif
