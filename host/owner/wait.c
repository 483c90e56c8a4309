/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/wait.h"

#include "host/owner/owner.h"
#include "host/owner/ownership.h"

int host_wait_turn(struct host_owner *host, int timeout_ms)
{
    return host->turns->turn(host, timeout_ms);
}

int host_wait_until(struct host_owner *host, uint64_t deadline_ns)
{
    return host->turns->until(host, deadline_ns);
}

void host_wait_again(struct host_owner *host)
{
    if (host_ownership_is_owner(host) && host->depth > 0)
        host->again = true;
    else
        host_loop_wake(&host->loop);
}

void host_wait_settle(struct host_owner *host)
{
    if (!host->again)
        return;
    host->again = false;
    host_loop_wake(&host->loop);
}
