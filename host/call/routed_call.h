/* SPDX-License-Identifier: Apache-2.0 */
/* routed_call: a call that the caller waits for, and that the router carries out. Any thread. */
#ifndef HOST_CALL_ROUTED_CALL_H
#define HOST_CALL_ROUTED_CALL_H

#include <rapahub/host.h>
#include <rapahub/route.h>

struct host_call;

struct host_routed_order {
    const struct rapahub_call *call;
    struct rapahub_uid uid;
    uint64_t deadline_ns;
};

/* Returns as rapahub_host_call does. The owner takes turns meanwhile. */
int host_routed_call(struct host_call *host, const struct host_routed_order *order, void *result);

#endif
