/* SPDX-License-Identifier: Apache-2.0 */
/* nested_upcall: calls of a guest to the host's services that the guest needs to answer the call
 * the owner waits for. While only such calls arrive, the owner serves them inside its wait, without
 * a turn of the loop. */
#ifndef HOST_CALL_NESTED_UPCALL_H
#define HOST_CALL_NESTED_UPCALL_H

#include "host/process/life.h"

struct host_call;

/* Serves at most `most` requests that arrive at once, until the end of a call or anything else
 * arrives. Returns how many. Owner, while it waits for a call of this life, which it uses. */
uint32_t host_nested_upcall_serve(struct host_call *host, struct host_life *life, uint32_t most);

/* Does the same with the requests that were queued meanwhile. */
uint32_t host_nested_upcall_serve_queued(struct host_call *host, struct host_life *life,
                                         uint32_t most);

#endif
