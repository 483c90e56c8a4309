/* SPDX-License-Identifier: Apache-2.0 */
/* small_call: a call by a stub, to where this thread called before, of a few bytes, while nothing
 * has changed in the host: no lock of routes, no look-up, no count that other threads write. What
 * it cannot do the long way does, host/call/route.h.
 *
 * While it runs the thread is inside, unless it is the owner and takes no turn: that stands in its
 * scratch (host_caller_enter), and keeps the life and the container as a count of users would. */
#ifndef HOST_CALL_SMALL_CALL_H
#define HOST_CALL_SMALL_CALL_H

#include <rapahub/host.h>

#include "host/call/caller.h"

struct host_call;

/* Asynchronous calls use these parts of it, too: the id of the method where it is known, so that
 * the name need not be looked at, and the arguments are plain, else 0; what of these begins at a
 * line (struct hub_parts); and metadata and arguments: -EAGAIN where there is no room. */
uint64_t host_small_call_id(const struct rapahub_call *call);
size_t host_small_call_aligned(const struct rapahub_call *call);
int host_small_call_encode(struct host_call *host, const struct host_caller *scratch,
                           const struct rapahub_call *call, struct hub_writer *writer);

/* 0 or a failure as rapahub_host_call; -EAGAIN: nothing was executed, it is to go the long way. */
int host_small_call(struct host_call *host, const struct rapahub_call *call, void *result);

#endif
