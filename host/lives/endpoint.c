/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/endpoint.h"

#include "host/observe/observe.h"

int host_endpoint_enter(struct host_guest *guest, struct host_life *life)
{
    struct host_observe *host = HOST_OBSERVE(guest->host);
    int r = 0;

    if (life->segment.trusted && HOST_PROCESS(host)->shared) {
        life->segment.group = HOST_PROCESS(host)->shared;
    } else {
        const struct host_group_plan plan = {.number = HOST_PROCESS(host)->groups + 1,
                                             .shared = life->segment.trusted};

        r = host_group_create(&HOST_PROCESS(host)->options.limits, &plan, &life->segment.group);
        if (r < 0)
            return r;
        host_lease_join(&HOST_PROCESS(host)->lease, life->segment.group);
        HOST_PROCESS(host)->groups++;
        if (life->segment.trusted)
            HOST_PROCESS(host)->shared = life->segment.group;
    }
    r = host_group_enter(life->segment.group, guest->totals.lives + 1, &life->id.peer,
                         &life->id.epoch);
    if (r < 0)
        return r;
    life->segment.entered = true;
    life->id.group = life->segment.group->number;
    life->segment.peer_state = HUB_PEER_RESERVED;
    hub_segment_view(life->segment.group->segment, life->id.peer, &life->segment.view);
    return 0;
}

/* Twice the number of guests, as in the loop: lives that have ended may still be looked out for. */
static int look_out(struct host_owner *host, struct host_post *post)
{
    int r = host->lookout.open ? 0
                               : host_lookout_open(&host->lookout, host->loop.epoll,
                                                   2 * HOST_REGISTRY(host)->guests_max);

    return r == 0 ? host_lookout_post(&host->lookout, post) : r;
}

int host_endpoint_watch(struct host_life *life)
{
    int r;

    life->doorbell.watch = (struct host_watch){
        life->doorbell.fd, HOST_SUPERVISION(life->host)->hooks->lives.on_bell, life, 0};
    r = host_life_listen(life);
    if (r < 0 || life->process.pidfd < 0)
        return r;
    return look_out(HOST_OWNER(life->host), &life->post);
}
