/* SPDX-License-Identifier: Apache-2.0 */
/* call_small: begins a call nobody waits for whose Request is one descriptor, in one step under the
 * lock. It knows less than hub_calls_begin and costs less: many such calls are under way at once.
 */
#ifndef HUB_CALL_CALL_SMALL_H
#define HUB_CALL_CALL_SMALL_H

#include "hub/call/calls.h"
#include "hub/shm/layout.h"

struct hub_call_small {
    uint64_t deadline_ns;
    struct hub_answer *answer; /* the caller's, until its end is told */
    hub_calls_done *done;
    void *user;
    bool more; /* others follow at once: see struct hub_parts */
};

/* Enters the call and sends the message, whose method and inline payload are set, the rest 0: 0 and
 * its number; -EAGAIN, also where room is not known of: nothing was sent and nothing is left, and
 * hub_calls_begin goes or says why. */
int hub_call_small_begin(struct hub_calls *calls, struct hub_descriptor *message,
                         const struct hub_call_small *call, uint64_t *number);

#endif
