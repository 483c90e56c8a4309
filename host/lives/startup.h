/* SPDX-License-Identifier: Apache-2.0 */
/* startup: from a guest's READY to the moment its calls are routed: its methods are asked for, its
 * containers begun again in order. Nothing of it holds up the loop. Owner. */
#ifndef HOST_LIVES_STARTUP_H
#define HOST_LIVES_STARTUP_H

#include "host/process/life.h"
#include "hub/call/inbound_calls.h"

struct host_call;

/* Serves READY, and goes on from there. */
void host_startup_ready(struct host_call *host, struct host_life *life,
                        struct hub_request *request);

/* It has attached, and is READY by that: its containers are begun, whether it says more or not. */
void host_startup_attached(struct host_life *life);

/* The start has failed as the calling thread's diagnosis of `code` says: the life is killed. */
void host_startup_fail(struct host_life *life, int code);

/* It ended before it was ready: says why to whoever waits for it, unless that is known. */
struct host_end;
void host_startup_explain(struct host_life *life, const struct host_end *end);

#endif
