/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/containers.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

int guest_containers_init(struct guest_containers *containers)
{
    hub_list_init(&containers->list);
    return hub_id_map_create(GUEST_CONTAINERS_MAX, &containers->by_handle);
}

static void free_container(struct guest_container *container)
{
    guest_state_transfer_fini(&container->carry);
    free(container->pool_name);
    free(container->self);
    free(container);
}

static int no_memory(size_t size)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a container with a state of %zu bytes",
                        size);
}

static int make(const struct rapahub_chimod *chimod, const struct guest_containers_order *order,
                struct guest_container **out)
{
    const struct hub_begin *begin = &order->begin;
    size_t size = (chimod->state_size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    struct guest_container *container = calloc(1, sizeof *container);

    if (!container)
        return no_memory(chimod->state_size);
    container->handle = begin->handle;
    container->token = order->token;
    container->id.pool.major = begin->id.major;
    container->id.pool.minor = begin->id.minor;
    container->id.container = begin->id.container;
    container->pool_name =
        strndup(begin->pool_name.data ? begin->pool_name.data : "", begin->pool_name.size);
    container->self = aligned_alloc(ALIGNMENT, size);
    hub_list_init(&container->link);
    if (!container->pool_name || !container->self) {
        free_container(container);
        return no_memory(chimod->state_size);
    }
    memset(container->self, 0, size);
    *out = container;
    return 0;
}

static int come_to_life(struct guest_container *container, const struct rapahub_container_ops *ops,
                        const struct hub_begin *begin)
{
    const struct rapahub_container_info info = {.id = container->id,
                                                .pool_name = container->pool_name,
                                                .params = begin->params,
                                                .load_follows = begin->load_follows};

    switch (begin->how) {
    case HUB_BEGIN_RESTART:
        return ops->restart(container->self, &info);
    case HUB_BEGIN_RECOVER:
        return ops->recover(container->self, &info);
    default:
        return ops->init(container->self, &info);
    }
}

int guest_containers_begin(struct guest_containers *containers, const struct rapahub_chimod *chimod,
                           const struct rapahub_container_ops *ops,
                           const struct guest_containers_order *order)
{
    struct guest_container *container = NULL, *outer = containers->asked;
    const struct hub_begin *begin = &order->begin;
    int r = make(chimod, order, &container);

    if (r < 0)
        return r;
    r = hub_id_map_put(containers->by_handle, begin->handle, container);
    if (r < 0) {
        free_container(container);
        return rapahub_fail(r == -ENOSPC ? RAPAHUB_EFULL : r, "", "no place for another container");
    }
    hub_list_append(&containers->list, &container->link);
    container->held++;
    containers->asked = container;
    r = come_to_life(container, ops, begin);
    containers->asked = outer;
    container->held--;
    if (r != 0) { /* a container that did not begin has nothing to release */
        hub_id_map_remove(containers->by_handle, begin->handle);
        hub_list_remove(&container->link);
        free_container(container);
        return r;
    }
    if (!begin->load_follows)
        guest_containers_show(container);
    return 0;
}

void guest_containers_show(struct guest_container *container)
{
    container->gate =
        container->handle & HUB_LIFECYCLE_LEASED ? GUEST_CONTAINER_LEASED : GUEST_CONTAINER_OPEN;
}

struct guest_container *guest_containers_find(const struct guest_containers *containers,
                                              uint64_t handle)
{
    if (handle != 0)
        return hub_id_map_get(containers->by_handle, handle);
    if (hub_list_empty(&containers->list))
        return NULL;
    return HUB_LIST_ITEM(containers->list.next, struct guest_container, link);
}

void guest_containers_end(struct guest_containers *containers,
                          const struct rapahub_container_ops *ops,
                          struct guest_container *container)
{
    if (ops)
        ops->fini(container->self);
    hub_id_map_remove(containers->by_handle, container->handle);
    hub_list_remove(&container->link);
    free_container(container);
}

void guest_containers_fini(struct guest_containers *containers,
                           const struct rapahub_container_ops *ops)
{
    while (containers->by_handle && !hub_list_empty(&containers->list))
        guest_containers_end(
            containers, ops,
            HUB_LIST_ITEM(containers->list.previous, struct guest_container, link));
    hub_id_map_release(&containers->by_handle);
}
