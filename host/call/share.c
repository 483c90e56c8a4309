/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/share.h"

#include "host/call/async_table.h"
#include "host/process/guest.h"
#include "host/registry/registry.h"

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
