/* SPDX-License-Identifier: Apache-2.0 */
/* async_call: rapahub_host_call_async. Each call uses a piece of the host's asyncs, which has room
 * for arguments and result. */
#ifndef HOST_CALL_ASYNC_CALL_H
#define HOST_CALL_ASYNC_CALL_H

#include <rapahub/host.h>

struct host_call;

struct host_async_call_order {
    const struct rapahub_call *call;
    rapahub_on_done *on_done;
    void *user;
};

struct host_async_begun {
    uint64_t number;
    uint64_t deadline_ns; /* the call ends at this time at the latest */
};

/* Begins an asynchronous call. Returns 0, or the reason why no call began; `on_done` does not run
 * then. Any thread. */
int host_async_call_begin(struct host_call *host, const struct host_async_call_order *order,
                          struct host_async_begun *out);

#endif
