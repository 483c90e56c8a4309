/* SPDX-License-Identifier: Apache-2.0 */
/* direct_wait: what comes next for a side that waits for the end of a call of its own, received
 * while it looks: a Response, or a Request that was made to answer the call, which is run and
 * answered as any, by this thread, before it looks again. Where anything else comes, or anything is
 * in the way, nothing is taken, and it is waited for the ordinary way. */
#ifndef HUB_CALL_DIRECT_WAIT_H
#define HUB_CALL_DIRECT_WAIT_H

#include "hub/call/calls.h"
#include "hub/call/served.h"

struct hub_direct_wait {
    struct hub_calls *calls;
    struct hub_served *served;
    /* May this thread run the request, whose arguments hold no streams, now? Under the token. */
    bool (*may)(void *user, struct hub_request *request);
    void *user;
};

enum hub_direct_news {
    HUB_DIRECT_NOTHING,
    HUB_DIRECT_ANSWER, /* a call has ended, of this thread or another one */
    HUB_DIRECT_REQUEST /* *request is to be run, and answered by hub_served_answer */
};

/* By the one thread of its side that serves. */
enum hub_direct_news hub_direct_wait_next(const struct hub_direct_wait *wait,
                                          struct hub_request **request);

#endif
