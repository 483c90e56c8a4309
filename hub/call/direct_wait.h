/* SPDX-License-Identifier: Apache-2.0 */
/* direct_wait: the next event for a side that waits for the end of its own call, received while it
 * spins: a Response, or a Request that was made to answer the call, which this thread runs and
 * answers like any other before it checks again. If anything else comes, or anything interferes,
 * nothing is received, and the thread waits the ordinary way. */
#ifndef HUB_CALL_DIRECT_WAIT_H
#define HUB_CALL_DIRECT_WAIT_H

#include "hub/call/calls.h"
#include "hub/call/inbound_calls.h"

struct hub_direct_wait {
    struct hub_calls *calls;
    struct hub_inbound_calls *served;
    /* Says whether this thread may run the request, whose arguments have no streams, now. Under the
     * token. */
    bool (*may)(void *user, struct hub_request *request);
    void *user;
};

enum hub_direct_news {
    HUB_DIRECT_NOTHING,
    HUB_DIRECT_ANSWER, /* a call has ended, of this thread or another one */
    HUB_DIRECT_REQUEST /* *request must be run, and answered by hub_inbound_calls_answer */
};

/* Only for the one thread of its side that serves. */
enum hub_direct_news hub_direct_wait_next(const struct hub_direct_wait *wait,
                                          struct hub_request **request);

#endif
