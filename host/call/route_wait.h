/* SPDX-License-Identifier: Apache-2.0 */
/* route_wait: how a call waits for a container whose guest is not ready. Any thread. */
#ifndef HOST_CALL_ROUTE_WAIT_H
#define HOST_CALL_ROUTE_WAIT_H

#include "host/call/route.h"

struct host_call;

/* Waits until the host has changed since the look-up. The owner takes turns. -ETIMEDOUT. */
int host_route_wait(struct host_call *host, const struct host_route *route, uint64_t deadline_ns);

#endif
