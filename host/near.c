/* SPDX-License-Identifier: Apache-2.0 */
#include "host/near.h"

#include "host/host.h"

struct host_scratch *host_near_of_owner(struct rapahub_host *host,
                                        struct rapahub_container_id target)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    return scratch && host_scratch_is_to(scratch, target) && !host_scratch_is_inside(scratch) &&
                   hub_peek(&host->routes.version) == scratch->version
               ? scratch
               : NULL;
}

struct host_scratch *host_near_at_rest(struct rapahub_host *host,
                                       struct rapahub_container_id target)
{
    struct host_scratch *scratch = host_scratch_get(&host->scratches);

    return scratch && host_scratch_is_to(scratch, target) &&
                   hub_peek(&host->routes.version) == scratch->version_at_rest
               ? scratch
               : NULL;
}

bool host_near_go_in(struct rapahub_host *host, struct host_scratch *scratch)
{
    host_scratch_enter(scratch);
    if (hub_observe(&host->routes.version) == scratch->version)
        return true;
    host_near_leave(host, scratch);
    return false;
}

struct host_scratch *host_near_enter(struct rapahub_host *host, struct rapahub_container_id target)
{
    struct host_scratch *scratch = host_near_of_owner(host, target);

    return scratch && host_near_go_in(host, scratch) ? scratch : NULL;
}

/* Who waits for this thread to leave has changed the version before it looked whether it is inside.
 * The life may be gone by now. */
void host_near_leave(struct rapahub_host *host, struct host_scratch *scratch)
{
    host_scratch_leave(scratch);
    if (hub_observe(&host->routes.version) != scratch->version)
        host_loop_wake(&host->loop);
}
