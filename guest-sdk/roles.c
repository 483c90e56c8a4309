/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/roles.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/chimod.h>

#include "guest-sdk/current.h"
#include "guest-sdk/delivery.h"
#include "guest-sdk/guest_state.h"
#include "guest-sdk/ops.h"
#include "hub/base/own.h"
#include "hub/bus/consumer.h"
#include "hub/bus/grant/grant.h"
#include "hub/bus/handles/state_reader.h"
#include "hub/bus/handles/state_writer.h"
#include "hub/bus/producer.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

/* The handle stays, and has no role. */
static void let_go(struct guest_role *role)
{
    hub_producer_let_go(role->producer);
    hub_consumer_let_go(role->consumer);
    hub_state_writer_let_go(role->writer);
    hub_state_reader_let_go(role->reader);
    (void)rapahub_region_close(role->region);
    role->region = NULL;
    role->opened = false;
    free(role->copy);
    role->copy = NULL;
}

static void close_role(struct guest_role *role)
{
    hub_list_remove(&role->link);
    rapahub_producer_close(role->producer);
    rapahub_consumer_close(role->consumer);
    rapahub_writer_close(role->writer);
    rapahub_reader_close(role->reader);
    (void)rapahub_region_close(role->region);
    free(role->copy);
    free(role->name);
    free(role);
}

void guest_roles_init(struct guest_roles *roles)
{
    guest_role_arrivals_init(&roles->arrivals);
    hub_list_init(&roles->list);
}

void guest_roles_close(struct guest_roles *roles)
{
    if (!roles->list.next)
        return;
    HUB_LIST_EACH (&roles->list, link)
        close_role(HUB_LIST_ITEM(link, struct guest_role, link));
}

void guest_roles_fini(struct guest_roles *roles)
{
    if (roles->list.next)
        guest_role_arrivals_fini(&roles->arrivals);
}

static struct guest_role *find(const struct guest_roles *roles, uint64_t handle, const char *name,
                               size_t size)
{
    HUB_LIST_EACH (&roles->list, link) {
        struct guest_role *role = HUB_LIST_ITEM(link, struct guest_role, link);

        if (role->handle == handle && strlen(role->name) == size &&
            memcmp(role->name, name, size) == 0)
            return role;
    }
    return NULL;
}

/* A handle that has let its role go gets it again. */
static int open_handle(struct guest_role *role, const struct hub_granted *granted)
{
    const struct rapahub_producer_options push = {.on_full = (enum rapahub_on_full)granted->on_full,
                                                  .index = granted->index};
    const struct rapahub_consumer_options pop = {.index = granted->index};

    switch (role->kind) {
    case RAPAHUB_REGION_ROLE_PRODUCER:
        return role->producer ? hub_producer_resume(role->producer, role->region, &push)
                              : rapahub_producer_open(role->region, &push, &role->producer);
    case RAPAHUB_REGION_ROLE_CONSUMER:
        return role->consumer ? hub_consumer_resume(role->consumer, role->region, &pop)
                              : rapahub_consumer_open(role->region, &pop, &role->consumer);
    case RAPAHUB_REGION_ROLE_WRITER:
        return role->writer ? hub_state_writer_resume(role->writer, role->region)
                            : rapahub_writer_open(role->region, &role->writer);
    default:
        return role->reader ? hub_state_reader_resume(role->reader, role->region)
                            : rapahub_reader_open(role->region, &role->reader);
    }
}

/* The descriptor was sent before the message that names it, so it is here, or in the doorbell. */
static int take_arrival(struct guest *guest, const struct hub_grant *grant,
                        struct rapahub_string name)
{
    struct guest_role_arrivals *arrivals = &guest->roles.arrivals;
    int fd = guest_role_arrivals_take(arrivals, grant);

    if (fd < 0 && hub_link_hear(guest->attach.connection.link))
        fd = guest_role_arrivals_take(arrivals, grant);
    return fd >= 0 ? fd
                   : rapahub_fail(RAPAHUB_EPROTOCOL, "supervise.role.holder",
                                  "no region came for the role '%.*s'", (int)name.size, name.data);
}

static int build(struct guest *guest, struct guest_role *role, const struct hub_granted *granted)
{
    const struct hub_grant grant = {.region = granted->region,
                                    .role = granted->role,
                                    .index = granted->index,
                                    .lease = granted->lease};
    int fd = take_arrival(guest, &grant, granted->name);
    int r;

    if (fd < 0)
        return fd;
    r = hub_grant_adopt(fd, &grant, &role->region);
    if (r == 0)
        r = open_handle(role, granted);
    return r == 0 && granted->deliver ? guest_delivery_prepare(guest, role) : r;
}

static int build_new(struct guest *guest, uint64_t handle, const struct hub_granted *granted)
{
    const char *name = granted->name.data ? granted->name.data : "";
    struct guest_role *role = calloc(1, sizeof *role);
    int r;

    if (role)
        role->name = strndup(name, granted->name.size);
    if (!role || !role->name) {
        free(role);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a role");
    }
    role->handle = handle;
    role->kind = (enum rapahub_region_role)granted->role;
    hub_list_append(&guest->roles.list, &role->link);
    r = build(guest, role, granted);
    if (r < 0)
        close_role(role);
    return r;
}

static int build_again(struct guest *guest, struct guest_role *role,
                       const struct hub_granted *granted)
{
    int r;

    if (role->region || (unsigned)role->kind != granted->role)
        return rapahub_fail(RAPAHUB_ESTATE, "supervise.role.upgrade",
                            "the role '%s' was not let go, or is of another kind", role->name);
    r = build(guest, role, granted);
    if (r < 0)
        let_go(role);
    return r;
}

static int build_named(struct guest *guest, uint64_t handle, const struct hub_granted *granted)
{
    const struct guest_container *container = guest_containers_find(&guest->containers, handle);
    const char *name = granted->name.data ? granted->name.data : "";
    struct guest_role *role = find(&guest->roles, handle, name, granted->name.size);

    if (role && container)
        return build_again(guest, role, granted);
    if (container)
        return rapahub_fail(RAPAHUB_ESTATE, "supervise.role.grant",
                            "a role comes before its container begins");
    if (role)
        close_role(role);
    return build_new(guest, handle, granted);
}

int guest_roles_build(struct guest *guest, struct hub_reader *arguments)
{
    struct hub_granted granted;
    uint64_t handle = 0;

    hub_payload_decode(arguments, &rapahub_type_u64, &handle);
    hub_payload_decode(arguments, &rapahub_type_hub_granted, &granted);
    if (hub_postcard_end(arguments) < 0)
        return RAPAHUB_EARGUMENTS;
    if (handle == 0)
        return rapahub_fail(RAPAHUB_ESTATE, "supervise.role.grant",
                            "a role is that of a container");
    return build_named(guest, handle, &granted);
}

static void tell(struct guest *guest, struct guest_container *container, bool held)
{
    container->held++;
    guest->module.ops.roles(container->self, held);
    container->held--;
}

static int open_role(struct guest_role *role)
{
    hub_grant_open(role->region);
    role->opened = true;
    return role->copy ? guest_delivery_begin(role) : 0;
}

/* r[impl supervise.role.ready] */
static int open_all(struct guest *guest, struct guest_container *container)
{
    int r = 0;

    HUB_LIST_EACH (&guest->roles.list, link) {
        struct guest_role *role = HUB_LIST_ITEM(link, struct guest_role, link);

        if (r == 0 && role->handle == container->handle && role->region && !role->opened)
            r = open_role(role);
    }
    if (r == 0 && container->let_go) {
        container->let_go = false;
        tell(guest, container, true);
    }
    return r;
}

static void let_all_go(struct guest *guest, struct guest_container *container)
{
    if (!container->let_go)
        tell(guest, container, false);
    container->let_go = true;
    HUB_LIST_EACH (&guest->roles.list, link) {
        struct guest_role *role = HUB_LIST_ITEM(link, struct guest_role, link);

        if (role->handle == container->handle)
            let_go(role);
    }
}

int guest_roles_change(struct guest *guest, struct guest_container *container, uint8_t what)
{
    int r;

    switch (what) {
    case HUB_ROLES_LET_GO:
        r = guest_ops_lets_go(guest->module.chimod);
        if (r == 0)
            let_all_go(guest, container);
        return r;
    case HUB_ROLES_OPEN:
        return open_all(guest, container);
    default:
        return RAPAHUB_EARGUMENTS;
    }
}

void guest_roles_drop(struct guest_roles *roles, uint64_t handle)
{
    HUB_LIST_EACH (&roles->list, link) {
        struct guest_role *role = HUB_LIST_ITEM(link, struct guest_role, link);

        if (role->handle == handle)
            close_role(role);
    }
}

/* ---- functions of chimod.h ---- */

/* Finds the role of the container whose method or callback runs. */
static int take(const char *name, enum rapahub_region_role kind, const struct guest_role **out)
{
    const struct guest *guest = guest_current();
    const struct guest_container *container = guest ? guest->containers.asked : NULL;

    if (guest && guest->frame && guest->frame->container)
        container = guest->frame->container;
    if (!container)
        return rapahub_fail(RAPAHUB_ESTATE, "", "no callback and no method runs on this thread");
    *out = name ? find(&guest->roles, container->handle, name, strlen(name)) : NULL;
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOENT, "supervise.role.grant",
                            "the container has no role '%.80s': name it in its options",
                            name ? name : "");
    return (*out)->kind == kind
               ? 0
               : rapahub_fail(RAPAHUB_EBADKIND, "supervise.role.grant",
                              "the role '%.80s' of the container is of another kind", name);
}

int rapahub_chimod_producer(const char *name, struct rapahub_producer **out)
{
    const struct guest_role *role;
    int r = take(name, RAPAHUB_REGION_ROLE_PRODUCER, &role);

    if (r == 0)
        *out = role->producer;
    return r;
}

int rapahub_chimod_consumer(const char *name, struct rapahub_consumer **out)
{
    const struct guest_role *role;
    int r = take(name, RAPAHUB_REGION_ROLE_CONSUMER, &role);

    if (r == 0)
        *out = role->consumer;
    return r;
}

int rapahub_chimod_writer(const char *name, struct rapahub_writer **out)
{
    const struct guest_role *role;
    int r = take(name, RAPAHUB_REGION_ROLE_WRITER, &role);

    if (r == 0)
        *out = role->writer;
    return r;
}

int rapahub_chimod_reader(const char *name, struct rapahub_reader **out)
{
    const struct guest_role *role;
    int r = take(name, RAPAHUB_REGION_ROLE_READER, &role);

    if (r == 0)
        *out = role->reader;
    return r;
}
