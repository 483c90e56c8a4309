/* SPDX-License-Identifier: Apache-2.0 */
/* call_ends: the ends of asynchronous calls. */
#ifndef HUB_CALL_CALL_ENDS_H
#define HUB_CALL_CALL_ENDS_H

#include "hub/call/calls.h"

/* Calls the `done` callbacks of ended calls, ends those whose deadline has passed, and returns
 * their number. The owner calls it after on_ready, and when the next deadline is due. */
uint32_t hub_call_ends_deliver(struct hub_calls *calls);

/* Returns the time at which the next end is due at the latest: 0 if a call has ended, HUB_NEVER if
 * there is none. */
uint64_t hub_call_ends_next(struct hub_calls *calls);

#endif
