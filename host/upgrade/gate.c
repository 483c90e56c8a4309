/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/gate.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "host/observe/observe.h"

static uint32_t count_of(const struct hub_list *list)
{
    uint32_t count = 0;

    HUB_LIST_EACH (list, link)
        count++;
    return count;
}

int host_gate_init(struct host_gate *holding, const struct host_guest *guest)
{
    holding->count = 0;
    holding->list = calloc(count_of(&guest->containers) + 1, sizeof(struct host_container *));
    if (!holding->list)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a list of containers");
    HUB_LIST_EACH (&guest->containers, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (host_containers_unbegun(container))
            continue;
        hub_add(&container->users, 1);
        container->awaiters++; /* a drain does not wait for it; it waits for drains */
        holding->list[holding->count++] = container;
    }
    return 0;
}

void host_gate_fini(struct host_gate *holding)
{
    for (uint32_t i = 0; i < holding->count; i++) {
        holding->list[i]->gated = false;
        holding->list[i]->awaiters--;
        host_containers_await(holding->list[i], false);
        (void)host_containers_drop(holding->list[i]);
    }
    free(holding->list);
    *holding = (struct host_gate){NULL, 0};
}

/* r[impl supervise.upgrade.hold] */
void host_gate_begin(struct host_observe *host, const struct host_gate *holding)
{
    host_routes_write(&HOST_REGISTRY(host)->routes);
    for (uint32_t i = 0; i < holding->count; i++) {
        holding->list[i]->gated = true;
        host_containers_settle(holding->list[i], "its guest is replaced");
        host_containers_await(holding->list[i], true);
    }
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
}

void host_gate_end(struct host_observe *host, const struct host_gate *holding)
{
    host_routes_write(&HOST_REGISTRY(host)->routes);
    for (uint32_t i = 0; i < holding->count; i++) {
        host_containers_await(holding->list[i], false);
        holding->list[i]->gated = false;
        host_containers_settle(holding->list[i], "its guest serves");
    }
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
}

/* r[impl cluster.token] */
void host_gate_renew(const struct host_gate *holding)
{
    for (uint32_t i = 0; i < holding->count; i++)
        if (holding->list[i]->token != 0)
            holding->list[i]->token++;
}

void host_gate_seal(const struct host_gate *holding)
{
    for (uint32_t i = 0; i < holding->count; i++)
        holding->list[i]->sealed = true;
}

/* The one user that remains is the gate. A thread that found the container before it was held
 * counts as a user, or is inside, until its call has ended. */
bool host_gate_is_idle(struct host_observe *host, const struct host_container *container)
{
    return host_containers_users(container) == 1 &&
           host_caller_inside_container(&HOST_REGISTRY(host)->callers, container) == 0;
}

static bool is_closed(const struct host_container *container)
{
    return container->state == HOST_CONTAINER_HELD || container->state == HOST_CONTAINER_PLUGGED;
}

bool host_gate_is_whole(const struct host_gate *holding, const struct host_guest *guest)
{
    uint32_t i = 0;

    HUB_LIST_EACH (&guest->containers, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (host_containers_unbegun(container))
            continue;
        if (i == holding->count || holding->list[i++] != container || !is_closed(container))
            return false;
    }
    return i == holding->count;
}

uint64_t host_gate_calls(const struct host_gate *holding)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < holding->count; i++)
        count += hub_observe(&holding->list[i]->held_ever);
    return count;
}
