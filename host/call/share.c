/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/share.h"

#include <rapahub/error.h>

#include "host/call/async_table.h"
#include "host/process/guest.h"
#include "host/registry/registry.h"

/* r[impl hub.admit.only] */
int host_share_check(const struct host_life *life, struct rapahub_container_id target, bool queried)
{
    const struct rapahub_container_id *only = &life->only.target;

    if (!life->only.set ||
        (!queried && target.pool.major == only->pool.major &&
         target.pool.minor == only->pool.minor && target.container == only->container))
        return 0;
    return rapahub_fail(RAPAHUB_EACCES, "hub.admit.only",
                        "%s was admitted to call %u.%u container %u, and nothing else", life->name,
                        only->pool.major, only->pool.minor, only->container);
}

uint32_t host_share_of(const struct host_registry *registry, const struct host_life *life)
{
    return host_async_table_share(life->admitted ? registry->admitted_max
                                                 : registry->guests_max - registry->admitted_max);
}

/* An admitted guest that goes can come again at once, as often as it likes. If its entry were free
 * before all has ended that it asked for, the table of calls, and the memory of their arguments,
 * would fill with what its former lives have left. r[impl hub.admit.bound] */
struct host_guest *host_share_pin(const struct host_life *life)
{
    if (!life->admitted)
        return NULL;
    life->guest->pins++;
    return life->guest;
}

void host_share_unpin(struct host_guest **guest)
{
    if (*guest)
        (*guest)->pins--;
    *guest = NULL;
}
