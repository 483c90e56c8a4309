/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/owner/changes.h"
#include "host/process/process.h"

struct host_guest *host_guest_find(struct host_process *host, struct rapahub_guest_id id)
{
    for (uint32_t i = 0; i < host->owner.registry.guests_max; i++) {
        struct host_guest *guest = host->owner.registry.guests[i];

        if (guest && id.peer != 0 && guest->id.group == id.group && guest->id.epoch == id.epoch &&
            guest->id.peer == id.peer)
            return guest;
    }
    return NULL;
}

void host_guest_move(struct host_guest *guest, enum host_guest_state to, const char *why)
{
    struct host_process *host = guest->host;

    host_routes_write(&host->owner.registry.routes);
    hub_states_move(&host_tree_states, &guest->state, (uint32_t)to, guest->name, why);
    host_routes_unlock(&host->owner.registry.routes);
    host_routes_announce(&host->owner.registry.routes);
    host_guest_tell(guest);
}

void host_guest_show(struct host_guest *guest, enum host_guest_state state, bool over)
{
    struct host_process *host = guest->host;

    host_routes_write(&host->owner.registry.routes);
    guest->state = (uint32_t)state;
    guest->child.over = over;
    host_routes_unlock(&host->owner.registry.routes);
    host_routes_announce(&host->owner.registry.routes);
    host_guest_tell(guest);
}

void host_guest_tell(const struct host_guest *guest)
{
    if (host_changes_is_heard(&guest->host->owner.changes))
        host_changes_tell(&guest->host->owner);
}

bool host_guest_is_up(const struct host_guest *guest)
{
    return guest->state == HOST_GUEST_READY || guest->state == HOST_GUEST_DEGRADED;
}

const char *host_guest_state_word(const struct host_guest *guest)
{
    static const char *const words[] = {
        [HOST_GUEST_STOPPED] = "stopped",   [HOST_GUEST_STARTING] = "starting",
        [HOST_GUEST_ATTACHED] = "starting", [HOST_GUEST_READY] = "ready",
        [HOST_GUEST_DEGRADED] = "degraded", [HOST_GUEST_STOPPING] = "stopping",
        [HOST_GUEST_EXITED] = "restarting", [HOST_GUEST_BACKOFF] = "restarting",
        [HOST_GUEST_FAILED] = "failed",     [HOST_GUEST_CLOSED] = "stopped"};
    bool again = guest->state == HOST_GUEST_STARTING || guest->state == HOST_GUEST_ATTACHED;

    if (guest->state == HOST_GUEST_FAILED && guest->child.over)
        return "ended";
    return again && guest->totals.restarts > 0 ? "restarting" : words[guest->state];
}
