/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/wait.h"

#include "host/owner/owner.h"

int host_wait_turn(struct host_owner *host, int timeout_ms)
{
    return host->turns->turn(host, timeout_ms);
}

int host_wait_until(struct host_owner *host, uint64_t deadline_ns)
{
    return host->turns->until(host, deadline_ns);
}
