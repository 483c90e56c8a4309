/* SPDX-License-Identifier: Apache-2.0 */
/* renew: a new life for a child, as a person asks for it who does not ask first what state it is
 * in.
 */
#include <string.h>

#include <rapahub/supervise.h>

int rapahub_child_renew(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns)
{
    struct rapahub_child_status status;
    int r = rapahub_child_status(host, child, &status);

    if (r < 0)
        return r;
    if (strcmp(status.state, "failed") != 0)
        return rapahub_child_restart(host, child, timeout_ns);
    r = rapahub_child_reset(host, child);
    return r == 0 ? rapahub_child_start(host, child, timeout_ns) : r;
}
