/* SPDX-License-Identifier: Apache-2.0 */
#include "host/wait.h"

#include "host/host.h"

int host_wait_turn(struct rapahub_host *host, int timeout_ms)
{
    return host->hooks->turn(host, timeout_ms);
}

int host_wait_until(struct rapahub_host *host, uint64_t deadline_ns)
{
    return host->hooks->turn_until(host, deadline_ns);
}

uint32_t host_wait_serve(struct rapahub_host *host, struct host_life *life, uint32_t most)
{
    return host->hooks->serve(host, life, most);
}

uint32_t host_wait_serve_queued(struct rapahub_host *host, struct host_life *life, uint32_t most)
{
    return host->hooks->serve_queued(host, life, most);
}
