/* SPDX-License-Identifier: Apache-2.0 */
/* loan_call: a call by a stub whose last argument lies in a loan, or whose result may be shown
 * where it lies, to where this thread called before; sent directly, hub/call/direct_call.h. What it
 * cannot do the long way does, host/call/route.h. Lives are freed by the owner, in a turn that is
 * in no other: so it enters one only where it waits, and what it does before takes no turn. */
#ifndef HOST_CALL_LOAN_CALL_H
#define HOST_CALL_LOAN_CALL_H

#include <rapahub/host.h>

struct host_call;

/* 0 or a failure as rapahub_host_call, of one with `loan` or `view`; -EAGAIN: nothing was sent, and
 * a loan is as it was: it is to go the long way. */
int host_loan_call(struct host_call *host, const struct rapahub_call *call, void *result);

#endif
