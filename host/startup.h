/* SPDX-License-Identifier: Apache-2.0 */
/* startup: from a guest's READY to the moment its calls are routed: its methods are asked for, its
 * containers begun again in order. Nothing of it holds up the loop. Owner. */
#ifndef HOST_STARTUP_H
#define HOST_STARTUP_H

#include "host/life.h"
#include "hub/link/served.h"

/* Serves READY, and goes on from there. */
void host_startup_ready(struct rapahub_host *host, struct host_life *life,
                        struct hub_request *request);

/* The start has failed as the calling thread's diagnosis of `code` says: the life is killed. */
void host_startup_fail(struct host_life *life, int code);

/* A container as the message BEGIN tells it. */
struct hub_begin;
struct host_container;
void host_startup_describe(const struct host_container *container, struct hub_begin *out);

#endif
