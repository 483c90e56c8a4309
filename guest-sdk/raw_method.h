/* SPDX-License-Identifier: Apache-2.0 */
/* raw_method: runs a small request for a raw method, from the message that brought it to the
 * message with its result. Serving thread. */
#ifndef GUEST_SDK_RAW_METHOD_H
#define GUEST_SDK_RAW_METHOD_H

#include "guest-sdk/guest_state.h"

enum guest_raw_end {
    GUEST_RAW_REFUSED, /* nothing was run: the method is not raw, or the request is not valid;
                          serve.c runs it the general way, or says what is wrong */
    GUEST_RAW_RUN,
    GUEST_RAW_DIRECT /* it was run, and its Response was sent directly: at that moment the peer
                        entry was still this guest's, the link was open, and the peer was not known
                        to be dead */
};

/* Runs and answers a request that hub_direct_serve_next has returned. No other request may be
 * running. */
enum guest_raw_end guest_raw_method_run(struct guest *guest, struct hub_request *request);

#endif
