/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/begin.h"

#include "host/call/call.h"
#include "host/owner/changes.h"
#include "host/process/guest.h"
#include "host/roles/links.h"
#include "host/roles/role_options.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

/* A managed container of this guest that is down is begun again; it keeps its name and its params.
 * r[impl cluster.managed] */
static bool enter_again(struct host_container *container, const struct host_guest *guest,
                        const struct rapahub_container_options *options)
{
    if (!container || !guest || container->guest != guest || !host_containers_unbegun(container))
        return false;
    container->token = options->token;
    host_containers_move(container, HOST_CONTAINER_STARTING, "it begins again");
    return true;
}

static int enter(struct host_call *host, const struct rapahub_container_options *options,
                 const struct host_guest *guest, struct host_container **out)
{
    OWN(host_roles) struct host_roles *roles = NULL;
    int r = host_role_options_take(&host->regions, guest, options, &roles);

    if (r == 0)
        r = host_containers_add(&HOST_REGISTRY(host)->containers, options, out);
    if (r < 0)
        return r;
    (*out)->roles = TAKE(roles);
    for (uint32_t i = 0; (*out)->roles && i < (*out)->roles->count; i++)
        (*out)->roles->of[i].container = *out;
    return 0;
}

int host_begin_enter(struct host_call *host, const struct rapahub_container_options *options,
                     const struct host_guest *guest, struct host_container **out)
{
    struct host_container *before;
    int r;

    host_routes_write(&HOST_REGISTRY(host)->routes);
    before = host_containers_find(&HOST_REGISTRY(host)->containers, options->id);
    if (before && before->state == HOST_CONTAINER_GONE)
        host_containers_remove(&HOST_REGISTRY(host)->containers, before);
    *out = before;
    r = enter_again(before, guest, options) ? 0 : enter(host, options, guest, out);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return r;
}

static void leave(struct host_call *host, struct host_container *container)
{
    host_links_end(container);
    host_routes_write(&HOST_REGISTRY(host)->routes);
    host_containers_remove(&HOST_REGISTRY(host)->containers, container);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
}

void host_begin_withdraw(struct host_call *host, struct host_container *container)
{
    if (!container->guest) {
        leave(host, container);
        return;
    }
    host_routes_write(&HOST_REGISTRY(host)->routes);
    if (container->state == HOST_CONTAINER_STARTING) /* else its guest has ended meanwhile */
        host_containers_move(container, HOST_CONTAINER_DOWN, "it did not begin");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
}

void host_begin_unsure(struct host_life *life)
{
    hub_store_relaxed(&life->unsure, hub_load_relaxed(&life->unsure) + 1);
}

void host_begin_sure(struct host_life *life)
{
    hub_store_relaxed(&life->unsure, hub_load_relaxed(&life->unsure) - 1);
}

bool host_begin_is_ended(int r)
{
    return r == 0 ||
           (r == RAPAHUB_EAPPLICATION && rapahub_last_error()->application == RAPAHUB_ENOENT);
}

bool host_begin_answers_end(struct host_life *life, int code, struct hub_answer *answer)
{
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_FINI].name;

    return code == 0 &&
           host_begin_is_ended(host_request_decode(life, answer, name, &rapahub_type_void, NULL));
}

static void on_taken_back(void *user, int code, struct hub_answer *answer)
{
    struct host_life *life = user;

    if (host_begin_answers_end(life, code, answer))
        host_begin_sure(life);
}

/* The message has no deadline: after one, the guest would drop it while it still begins. */
int host_begin_take_back(struct host_life *life, uint64_t handle)
{
    const void *const arguments[] = {&handle, NULL};
    const struct host_request_message message = {.method = HUB_LIFECYCLE_FINI,
                                                 .arguments = arguments,
                                                 .done = on_taken_back,
                                                 .user = life,
                                                 .deadline_ns = HUB_NEVER};

    return host_request_send(life, &message);
}

int host_begin_show(struct host_call *host, struct host_life *life,
                    struct host_container *container)
{
    struct host_guest *guest = life->guest;
    bool there;

    host_routes_write(&HOST_REGISTRY(host)->routes);
    there = guest && guest->life == life && host_guest_is_up(guest) &&
            container->state == HOST_CONTAINER_STARTING;
    if (there && !container->guest) {
        container->guest = guest;
        hub_list_append(&guest->containers, &container->of_guest);
    }
    if (there && container->roles)
        guest->linked = life->incarnation;
    if (there)
        host_containers_move(container, host_containers_open(container), "it has begun");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
    host_changes_tell(HOST_OWNER(host)); /* a step may wait for it */
    return there ? 0 : rapahub_fail(RAPAHUB_EDIED, "", "the guest ended meanwhile");
}

bool host_begin_role(const struct host_life *life, const struct host_container *container,
                     uint32_t index, struct host_begin_role *out)
{
    *out = (struct host_begin_role){.arguments = {&container->handle, &out->granted, NULL}};
    if (!container->roles || index >= container->roles->count)
        return false;
    out->r = host_links_grant(life, &container->roles->of[index], &out->granted);
    return true;
}

int host_begin_name_role(struct host_life *life, const struct host_begin_role *role)
{
    return host_request_tell(life, HUB_LIFECYCLE_ROLE, role->arguments, HUB_NEVER);
}

int host_begin_take_role(struct host_life *life, const struct host_container *container,
                         uint32_t index, struct hub_answer *answer)
{
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_ROLE].name;
    int r = host_request_decode(life, answer, name, &rapahub_type_void, NULL);

    if (r == 0 && container->roles)
        host_links_built(life, &container->roles->of[index]);
    return r;
}

int host_begin_find(struct host_call *host, struct rapahub_guest_id id, struct host_life **out)
{
    struct host_guest *guest = host_guest_find(&host->process, id);

    if (!guest || !guest->life || !host_guest_is_up(guest))
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such guest any more");
    if (guest->upgrade)
        return rapahub_fail(RAPAHUB_EBUSY, "", "%s is being upgraded", guest->name);
    *out = guest->life;
    host_life_hold(*out);
    return 0;
}

int host_begin_check(const struct rapahub_container_options *options, enum rapahub_begin how)
{
    int r = host_options_check_container(options);

    if (r == 0 && (unsigned)how > RAPAHUB_BEGIN_RECOVER)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "%d is no way to begin", (int)how);
    return r;
}
