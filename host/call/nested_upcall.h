/* SPDX-License-Identifier: Apache-2.0 */
/* nested_upcall: a guest that the owner waits for calls what the host offers, to answer it. Where
 * that is all that comes, the owner serves it inside of its wait, without a turn of the loop. */
#ifndef HOST_CALL_NESTED_UPCALL_H
#define HOST_CALL_NESTED_UPCALL_H

#include "host/process/life.h"

struct host_call;

/* Serves what comes at once, at most so many, until that is the end of a call, or something else:
 * how many. The owner, who waits for a call of this life, and uses it. */
uint32_t host_nested_upcall_serve(struct host_call *host, struct host_life *life, uint32_t most);

/* Serves what has been queued meanwhile. The same. */
uint32_t host_nested_upcall_serve_queued(struct host_call *host, struct host_life *life,
                                         uint32_t most);

#endif
