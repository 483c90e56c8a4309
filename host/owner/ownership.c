/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner/ownership.h"

#include <rapahub/error.h>

#include "host/owner/forked.h"
#include "host/owner/owner.h"

bool host_ownership_is_owner(const struct host_owner *host)
{
    return hub_load_relaxed64(&host->threads.owner) == (uintptr_t)pthread_self();
}

int host_ownership_check(const struct host_owner *host)
{
    int r = host_forked_check(host);

    if (r < 0)
        return r;
    if (!host_ownership_is_owner(host))
        return rapahub_fail(RAPAHUB_ESTATE, "", "only the thread that owns the host may do this");
    if (host->callbacks > 0)
        return rapahub_fail(RAPAHUB_ESTATE, "", "a callback may call containers, and no more");
    return 0;
}
