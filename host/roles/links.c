/* SPDX-License-Identifier: Apache-2.0 */
#include "host/roles/links.h"

#include "hub/base/own.h"
#include "hub/bus/grant/grant.h"
#include "hub/shm/doorbell.h"

bool host_links_promised(const struct host_role *role, uint32_t index)
{
    HUB_LIST_EACH (&role->region->roles, link) {
        const struct host_role *other = HUB_LIST_ITEM(link, struct host_role, of_region);

        if (other != role && other->kind == role->kind && other->index == index &&
            (!other->container || other->container->state != HOST_CONTAINER_GONE))
            return true;
    }
    return false;
}

static int grant_at(const struct host_life *life, const struct host_role *role, uint32_t index,
                    struct hub_grant *out)
{
    const struct hub_grant_order order = {role->kind, index, life->process.pid, life->name};

    return hub_grant_make(role->region->region, &order, out);
}

/* The first index that no container of this host has, and no other process holds. */
static int grant_any(const struct host_life *life, struct host_role *role, struct hub_grant *out)
{
    bool shared;
    uint32_t places = hub_grant_places(role->region->region, role->kind, &shared);
    int r = rapahub_fail(RAPAHUB_EROLETAKEN, "supervise.role.grant",
                         "region '%s' has no index left for the role '%s': make it with more",
                         role->region->name, role->name);

    for (uint32_t i = 0; i < places && r == RAPAHUB_EROLETAKEN; i++)
        if (shared || !host_links_promised(role, i))
            r = grant_at(life, role, i, out);
    if (r >= 0)
        role->index = out->index;
    return r;
}

static int send(const struct host_life *life, const struct host_role *role, int fd)
{
    return hub_doorbell_send(life->doorbell.fd, fd)
               ? 0
               : rapahub_fail(RAPAHUB_EAGAIN, "supervise.role.grant",
                              "%s: the region of its role '%s' cannot be sent now", life->name,
                              role->name);
}

/* r[impl supervise.role.grant] */
int host_links_grant(const struct host_life *life, struct host_role *role, struct hub_granted *out)
{
    struct hub_grant grant = {0};
    OWN(hub_fd)
    int fd = role->index == RAPAHUB_ROLE_ANY ? grant_any(life, role, &grant)
                                             : grant_at(life, role, role->index, &grant);

    if (fd < 0)
        return fd;
    role->granted = true;
    role->lease = grant.lease;
    role->owner = grant.owner;
    *out = (struct hub_granted){.name = rapahub_string_of(role->name),
                                .region = grant.region,
                                .role = (uint8_t)grant.role,
                                .index = grant.index,
                                .lease = grant.lease,
                                .on_full = (uint8_t)role->on_full,
                                .deliver = role->deliver};
    return send(life, role, fd);
}

void host_links_built(const struct host_life *life, struct host_role *role)
{
    role->incarnation = life->incarnation;
}

void host_links_keep(const struct host_container *container, bool keep)
{
    for (uint32_t i = 0; container->roles && i < container->roles->count; i++) {
        const struct host_role *role = &container->roles->of[i];
        const struct hub_grant grant = {.role = (uint32_t)role->kind, .index = role->index};

        hub_grant_keep(role->region->region, &grant, keep);
    }
}

void host_links_let_go(const struct host_container *container)
{
    for (uint32_t i = 0; container->roles && i < container->roles->count; i++)
        container->roles->of[i].incarnation = 0;
}

void host_links_stand(const struct host_container *container, const struct host_life *life)
{
    for (uint32_t i = 0; container->roles && i < container->roles->count; i++)
        host_links_built(life, &container->roles->of[i]);
}

bool host_links_is_let_go(const struct host_container *container, uint32_t *index)
{
    for (uint32_t i = 0; container->roles && i < container->roles->count; i++) {
        if (container->roles->of[i].incarnation != 0)
            continue;
        *index = i;
        return true;
    }
    return false;
}

/* A role that was granted and not taken up is held by the life as well: all regions are looked at
 * that its guest has a role in. */
void host_links_suspend(const struct host_life *life)
{
    HUB_LIST_EACH (&life->guest->containers, link) {
        const struct host_container *container =
            HUB_LIST_ITEM(link, struct host_container, of_guest);

        for (uint32_t i = 0; container->roles && i < container->roles->count; i++)
            hub_grant_reap(container->roles->of[i].region->region);
    }
}

void host_links_end(struct host_container *container)
{
    for (uint32_t i = 0; container->roles && i < container->roles->count; i++) {
        struct host_role *role = &container->roles->of[i];
        const struct hub_grant grant = {.role = (uint32_t)role->kind,
                                        .index = role->index,
                                        .lease = role->lease,
                                        .owner = role->owner};

        if (role->granted)
            hub_grant_unsubscribe(role->region->region, &grant);
        role->granted = false;
        role->incarnation = 0;
    }
}

bool host_links_stands(const struct host_role *role)
{
    const struct host_guest *guest = role->container->guest;

    return guest && guest->life && role->incarnation != 0 && role->incarnation == guest->linked &&
           guest->life->incarnation == guest->linked;
}
