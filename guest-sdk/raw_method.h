/* SPDX-License-Identifier: Apache-2.0 */
/* raw_method: a small request for a method of bytes to bytes, from the message it came in to the
 * message with its result. */
#ifndef GUEST_SDK_RAW_METHOD_H
#define GUEST_SDK_RAW_METHOD_H

#include "guest-sdk/guest_state.h"

enum guest_raw_end {
    GUEST_RAW_REFUSED, /* it is for another method, or not as it should be: nothing was run, and
                          serve.c runs it as any or says what is wrong */
    GUEST_RAW_RUN,
    GUEST_RAW_DIRECT /* and the answer went directly: the entry was still ours then, the link open,
                        and the peer not known to be dead */
};

/* Runs and answers one that hub_direct_serve_next has handed out. No other one runs. */
enum guest_raw_end guest_raw_method_run(struct guest *guest, struct hub_request *request);

#endif
