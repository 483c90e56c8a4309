/* SPDX-License-Identifier: Apache-2.0 */
/* startup: from READY of a life to the first call that is routed to it: its methods are asked for,
 * and its containers begin again in order. Nothing here blocks the loop. Owner. */
#ifndef HOST_LIVES_STARTUP_H
#define HOST_LIVES_STARTUP_H

#include "host/process/life.h"
#include "hub/call/inbound_calls.h"

struct host_call;

/* Serves READY and continues the start. */
void host_startup_ready(struct host_call *host, struct host_life *life,
                        struct hub_request *request);

/* A guest that is READY by attaching has attached: its containers begin, whether it says more or
 * not. */
void host_startup_attached(struct host_life *life);

/* It is READY: its roles are given messages and values from now on. A life that cannot have that
 * ends, class LINK: its messages would pile up. r[impl supervise.role.ready] */
void host_startup_open_roles(struct host_life *life);

/* The start has failed with `code`, whose diagnosis is the calling thread's. Kills the life. */
void host_startup_fail(struct host_life *life, int code);

/* The life ended before it was ready. Sets the error that waiting callers get, unless it is
 * known. */
struct host_end;
void host_startup_explain(struct host_life *life, const struct host_end *end);

#endif
