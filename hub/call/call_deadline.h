/* SPDX-License-Identifier: Apache-2.0 */
/* call_deadline: when a call that is waited for is over at the latest, which its streams may move.
 */
#ifndef HUB_CALL_CALL_DEADLINE_H
#define HUB_CALL_CALL_DEADLINE_H

#include "hub/call/calls.h"

/* 0 where it has been forgotten. Any thread. */
uint64_t hub_call_deadline_of(struct hub_calls *calls, uint64_t number);

/* Never to an earlier one, and not of a call that was cancelled. Any thread. */
void hub_call_deadline_extend(struct hub_calls *calls, uint64_t number, uint64_t deadline_ns);

#endif
