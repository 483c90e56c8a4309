/* SPDX-License-Identifier: Apache-2.0 */
/* cached_call: a call by a stub to the target of this thread's last call, while nothing has changed
 * in the host. It uses no lock of routes, no look-up, and no count that other threads write. Its
 * arguments may end in a loan, and its result may be shown as a view. Other calls use the general
 * path, host/call/route.h. */
#ifndef HOST_CALL_CACHED_CALL_H
#define HOST_CALL_CACHED_CALL_H

#include <rapahub/host.h>

#include "host/call/caller.h"

struct host_call;

/* bytes of metadata and arguments, without those in a loan; a larger call uses the general path */
#define HOST_CACHED_CALL_MOST 512

/* Makes the call. Returns 0 or a failure as rapahub_host_call does. -EAGAIN: nothing was executed,
 * a loan is unchanged, and the call is to use the general path. Any thread. */
int host_cached_call(struct host_call *host, const struct rapahub_call *call, void *result);

/* ---- parts that asynchronous calls use as well; any thread ---- */

/* Returns whether the call is raw: of one value of bytes to bytes, by far the most frequent shape.
 * Its few bytes are copied without an encoder, and nothing else is checked. Two types of bytes are
 * one object, so a call for which this is not so is only slower. */
static inline bool host_cached_call_is_raw(const struct rapahub_call *call)
{
    const struct rapahub_type *const *types = call->types;

    return types[0] == types[1] && types[0]->kind == RAPAHUB_KIND_BYTES && !types[2] &&
           call->arguments;
}

/* Returns the method's id if it is known, so that its name need not be read; else 0. */
static inline uint64_t host_cached_call_id(const struct rapahub_call *call)
{
    return call->method_id && call->types
               ? hub_load_relaxed64((const struct hub_a64 *)(const void *)call->method_id)
               : 0;
}

/* Encodes metadata and arguments with an empty writer of at least one byte. -EAGAIN: there is no
 * space, or there is a stream or a chain, or arguments are missing. */
int host_cached_call_encode(struct host_call *host, const struct host_caller *caller,
                            const struct rapahub_call *call, struct hub_writer *writer);

/* Returns how many bytes at the end of the arguments begin at a cache line (struct hub_parts). */
size_t host_cached_call_aligned(const struct rapahub_call *call);

#endif
