/* SPDX-License-Identifier: Apache-2.0 */
/* async_call: the whole of rapahub_host_call_async. A call's memory, with room for its arguments
 * and its result, comes from the shelf of the host's asyncs and goes back there when it has ended.
 */
#ifndef HOST_ASYNC_CALL_H
#define HOST_ASYNC_CALL_H

#include <rapahub/host.h>

struct host_async_call_order {
    const struct rapahub_call *call;
    rapahub_on_done *on_done;
    void *user;
};

/* 0 and the number of the call, or why none was begun; then on_done does not run. Any thread. */
int host_async_call_begin(struct rapahub_host *host, const struct host_async_call_order *order,
                          uint64_t *number);

#endif
