/* SPDX-License-Identifier: Apache-2.0 */
/* small_call: a call by a stub, of a few bytes, to the target of this thread's last call, while
 * nothing has changed in the host. It uses no lock of routes, no look-up, and no count that other
 * threads write. Other calls use the general path, host/call/route.h.
 *
 * While it runs the thread is inside (host_caller_enter), unless it is the owner and takes no turn.
 * That keeps the life and the container, as a count of users would. */
#ifndef HOST_CALL_SMALL_CALL_H
#define HOST_CALL_SMALL_CALL_H

#include <rapahub/host.h>

#include "host/call/caller.h"

struct host_call;

/* Parts that asynchronous calls use as well. Any thread. host_small_call_id returns the method's id
 * if it is known, so that the name need not be read, and the arguments are plain; else 0.
 * host_small_call_aligned returns how many bytes at the end of the arguments begin at a cache line
 * (struct hub_parts). host_small_call_encode writes metadata and arguments; -EAGAIN if there is no
 * space. */
uint64_t host_small_call_id(const struct rapahub_call *call);
size_t host_small_call_aligned(const struct rapahub_call *call);
int host_small_call_encode(struct host_call *host, const struct host_caller *caller,
                           const struct rapahub_call *call, struct hub_writer *writer);

/* Returns 0 or a failure as rapahub_host_call does. -EAGAIN: nothing was executed, and the call is
 * to use the general path. Any thread. */
int host_small_call(struct host_call *host, const struct rapahub_call *call, void *result);

#endif
