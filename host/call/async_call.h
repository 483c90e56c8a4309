/* SPDX-License-Identifier: Apache-2.0 */
/* async_call: the whole of rapahub_host_call_async. A call's memory, with room for its arguments
 * and its result, is a piece of the host's asyncs. */
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
    uint64_t deadline_ns; /* when it ends at the latest */
};

/* 0, or why none was begun; then on_done does not run. Any thread. */
int host_async_call_begin(struct host_call *host, const struct host_async_call_order *order,
                          struct host_async_begun *out);

#endif
