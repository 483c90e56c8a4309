/* SPDX-License-Identifier: Apache-2.0 */
/* call_ends: the ends of calls nobody waits for. */
#ifndef HUB_CALL_CALL_ENDS_H
#define HUB_CALL_CALL_ENDS_H

#include "hub/call/calls.h"

/* Delivers what is done to `done` callbacks, and ends those whose deadline has passed: how many. To
 * be called by the owner when on_ready was called, and when the next one is due. */
uint32_t hub_call_ends_deliver(struct hub_calls *calls);

/* When the next one is due at the latest: 0 where one has ended, HUB_NEVER. */
uint64_t hub_call_ends_next(struct hub_calls *calls);

#endif
