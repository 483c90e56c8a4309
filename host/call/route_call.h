/* SPDX-License-Identifier: Apache-2.0 */
/* route_call: a call that the caller waits for, by the shortest path it can use. Any thread. */
#ifndef HOST_CALL_ROUTE_CALL_H
#define HOST_CALL_ROUTE_CALL_H

#include <rapahub/host.h>

struct host_call;

/* rapahub_host_call. */
int host_route_call(struct host_call *host, const struct rapahub_call *call, void *result);

#endif
