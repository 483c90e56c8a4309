/* SPDX-License-Identifier: Apache-2.0 */
/* loan_call: a call by a stub to the target of this thread's last call, whose last argument is in a
 * loan, or whose result may be shown as a view. It is sent directly, hub/call/direct_call.h. Other
 * calls use the general path, host/call/route.h. Only the owner frees lives, in its outermost turn.
 * So the owner enters a life only to wait, and takes no turn before that. */
#ifndef HOST_CALL_LOAN_CALL_H
#define HOST_CALL_LOAN_CALL_H

#include <rapahub/host.h>

struct host_call;

/* Makes a call with `loan` or `view`. Returns 0 or a failure as rapahub_host_call does. -EAGAIN:
 * nothing was sent, the loan is unchanged, and the call is to use the general path. Any thread. */
int host_loan_call(struct host_call *host, const struct rapahub_call *call, void *result);

#endif
