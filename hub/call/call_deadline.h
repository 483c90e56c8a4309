/* SPDX-License-Identifier: Apache-2.0 */
/* call_deadline: the deadline of a call that is waited for, which its streams may move. */
#ifndef HUB_CALL_CALL_DEADLINE_H
#define HUB_CALL_CALL_DEADLINE_H

#include "hub/call/calls.h"

/* Returns the deadline, 0 if the call has been forgotten. Any thread. */
uint64_t hub_call_deadline_of(struct hub_calls *calls, uint64_t number);

/* Extends the deadline: never to an earlier one, and not for a cancelled call. Any thread. */
void hub_call_deadline_extend(struct hub_calls *calls, uint64_t number, uint64_t deadline_ns);

#endif
