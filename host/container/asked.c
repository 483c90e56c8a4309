/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/asked.h"

#include <errno.h>

#include <rapahub/error.h>

#include "host/call/call.h"
#include "host/call/route.h"
#include "host/process/guest.h"
#include "hub/base/own.h"

int host_asked_refuse(struct rapahub_container_id target)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    return rapahub_fail(RAPAHUB_ENOENT, "", "there is no container %s in a guest",
                        host_containers_print(target, id));
}

static int refuse_life(struct rapahub_container_id target)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    return rapahub_fail(RAPAHUB_ESTALE, "", "container %s is in another life",
                        host_containers_print(target, id));
}

/* No call reaches such a container, but it can be asked, moved and ended. */
static bool is_closed(const struct host_container *container)
{
    return container->state == HOST_CONTAINER_PLUGGED || container->state == HOST_CONTAINER_HELD ||
           (container->state == HOST_CONTAINER_READY &&
            container->guest->state == HOST_GUEST_DEGRADED);
}

static int find(struct host_asked *asked, struct rapahub_container_id target)
{
    struct host_container *container =
        host_containers_find(&HOST_REGISTRY(asked->host)->containers, target);
    struct host_route route;
    int r;

    if (!container || !container->guest || container->state == HOST_CONTAINER_GONE)
        return host_asked_refuse(target);
    if (asked->token != 0 && container->token != asked->token)
        return refuse_life(target);
    if (container->state == HOST_CONTAINER_HELD && container->gated)
        return -EAGAIN;
    if (!is_closed(container)) {
        r = host_route_find(asked->host, target, &route);
        asked->container = TAKE(route.container);
        asked->life = TAKE(route.life);
        host_route_drop(&route);
        return r;
    }
    if (!container->guest->life)
        return -EAGAIN;
    hub_add(&container->users, 1);
    host_life_hold(container->guest->life);
    asked->container = container;
    asked->life = container->guest->life;
    return 0;
}

int host_asked_try(struct host_asked *asked, struct rapahub_container_id target)
{
    int r = find(asked, target);

    if (r < 0)
        host_asked_drop(asked);
    return r;
}

void host_asked_drop(struct host_asked *asked)
{
    if (asked->claimed)
        asked->container->moving = false;
    asked->claimed = false;
    if (asked->life)
        host_life_drop(asked->life);
    if (asked->container)
        host_route_uncount(asked->host, asked->container);
    asked->life = NULL;
    asked->container = NULL;
}

int host_asked_check_closed(const struct host_asked *asked)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    if (asked->container->state == HOST_CONTAINER_PLUGGED ||
        asked->container->state == HOST_CONTAINER_HELD)
        return 0;
    return rapahub_fail(RAPAHUB_ESTATE, "", "container %s is not plugged",
                        host_containers_print(asked->container->id, id));
}

/* The guest keeps a single output of a container, and a single input. */
int host_asked_claim(struct host_asked *asked)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    if (asked->container->moving)
        return rapahub_fail(RAPAHUB_EBUSY, "", "the state of container %s is moved already",
                            host_containers_print(asked->container->id, id));
    asked->container->moving = asked->claimed = true;
    return 0;
}
