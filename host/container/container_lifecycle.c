/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/container_lifecycle.h"

#include <string.h>

#include "host/call/call.h"
#include "host/call/request.h"
#include "host/call/service.h"
#include "host/call/services.h"
#include "host/container/state_transfer.h"
#include "host/owner/verdict.h"
#include "host/owner/wait.h"
#include "host/process/guest.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define LOOK_AGAIN    (2 * HUB_MILLISECOND)   /* while a container drains */
#define LOOK_LEAST    (100 * HUB_MILLISECOND) /* least time for an answer, however short a drain */
#define FINI_MOST     HUB_SECOND              /* for the end of a container that could not begin */
#define ARGUMENTS_MAX 2                       /* after the handle */

/* ---- begin ---- */

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

/* Adds the container. A container of the same id whose guest has ended for good is removed
 * first. */
static int enter(struct host_call *host, const struct rapahub_container_options *options,
                 const struct host_guest *guest, struct host_container **out)
{
    struct host_container *before;
    int r;

    host_routes_write(&HOST_REGISTRY(host)->routes);
    before = host_containers_find(&HOST_REGISTRY(host)->containers, options->id);
    if (before && before->state == HOST_CONTAINER_GONE)
        host_containers_remove(&HOST_REGISTRY(host)->containers, before);
    *out = before;
    r = enter_again(before, guest, options)
            ? 0
            : host_containers_add(&HOST_REGISTRY(host)->containers, options, out);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return r;
}

static void leave(struct host_call *host, struct host_container *container)
{
    host_routes_write(&HOST_REGISTRY(host)->routes);
    host_containers_remove(&HOST_REGISTRY(host)->containers, container);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
}

/* The container did not begin: it is gone, or down as it was before. */
static void withdraw(struct host_call *host, struct host_container *container)
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

/* One deadline holds for everything that a function asks a guest. r[impl sec.call.time] */
static uint64_t deadline_of(const struct host_call *host)
{
    return hub_clock_after(host->process.options.call_timeout_ns);
}

/* Runs its `fini`, if there is a guest that can. The result changes nothing. */
static void end_in_guest(struct host_call *host, struct host_life *life,
                         const struct host_container *container)
{
    const void *const arguments[] = {&container->handle, NULL};
    const struct host_request_question question = {HUB_LIFECYCLE_FINI, arguments, NULL,
                                                   hub_clock_after(FINI_MOST)};

    if (!hub_link_closed(life->connection.link))
        (void)host_request_ask(host, life, &question);
}

static int begin_in_guest(struct host_call *host, struct host_life *life,
                          const struct host_container *container,
                          const struct host_container_lifecycle_begin *begin)
{
    struct host_verdict verdict;
    struct hub_begin message;
    const void *const arguments[] = {&message, &container->token, NULL};
    struct host_state_transfer moves = {host, life, container, deadline_of(host)};
    struct host_request_question question = {.arguments = arguments,
                                             .deadline_ns = moves.deadline_ns};
    int r;

    question.method = host_containers_describe(container, container->token, &message);
    message.how = (uint8_t)begin->how;
    message.load_follows = begin->state != NULL;
    r = host_request_ask(host, life, &question);
    if (r < 0 || !begin->state)
        return r;
    r = host_state_transfer_load(&moves, begin->state);
    if (r == 0)
        return 0;
    host_verdict_take(&verdict, r);
    end_in_guest(host, life, container);
    return host_verdict_give(&verdict);
}

/* Makes the container reachable for calls, unless its guest died after its last answer. */
static int show(struct host_call *host, struct host_life *life, struct host_container *container)
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
    if (there)
        host_containers_move(container, host_containers_open(container), "it has begun");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
    return there ? 0 : rapahub_fail(RAPAHUB_EDIED, "", "the guest ended meanwhile");
}

static int find_life(struct host_call *host, struct rapahub_guest_id id, struct host_life **out)
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

int host_container_lifecycle_begin(struct host_call *host,
                                   const struct host_container_lifecycle_begin *begin)
{
    struct host_container *container;
    struct host_life *life = NULL;
    int r = host_options_check_container(begin->options);

    if (r == 0 && (unsigned)begin->how > RAPAHUB_BEGIN_RECOVER)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "%d is no way to begin", (int)begin->how);
    if (r == 0)
        r = find_life(host, begin->guest, &life);
    if (r < 0)
        return r;
    r = enter(host, begin->options, life->guest, &container);
    if (r == 0) {
        r = begin_in_guest(host, life, container, begin);
        if (r == 0)
            r = show(host, life, container);
        if (r < 0)
            withdraw(host, container);
    }
    host_life_drop(life);
    return r;
}

/* r[impl supervise.container] */
int host_container_lifecycle_keep(struct host_guest *guest,
                                  const struct rapahub_container_options *options)
{
    struct host_call *host = HOST_CALL(guest->host);
    struct host_container *container;
    int r = host_options_check_container(options);

    if (r == 0)
        r = enter(host, options, NULL, &container);
    if (r < 0)
        return r;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->guest = guest;
    container->is_new = true;
    hub_list_append(&guest->containers, &container->of_guest);
    host_containers_move(container, HOST_CONTAINER_DOWN, "its guest is to begin it");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
    return 0;
}

int host_container_lifecycle_offer(struct host_call *host,
                                   const struct rapahub_container_options *options,
                                   const struct rapahub_method *methods, void *self)
{
    OWN(host_service) struct host_service *offer = NULL;
    struct host_container *container;
    int r = host_options_check_container(options);

    if (r == 0 && !methods)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "no methods are given to offer");
    if (r == 0)
        r = host_service_create(methods, self, &offer);
    if (r == 0)
        r = enter(host, options, NULL, &container);
    if (r < 0)
        return r;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->offer = TAKE(offer);
    host_containers_move(container, HOST_CONTAINER_READY, "it is offered");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return 0;
}

/* ---- a container that lives ---- */

static int refuse_unknown(struct rapahub_container_id target)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    return rapahub_fail(RAPAHUB_ENOENT, "", "there is no container %s in a guest",
                        host_containers_print(target, id));
}

/* No call reaches such a container, but it can be asked, moved and ended. */
static bool is_closed(const struct host_container *container)
{
    return container->state == HOST_CONTAINER_PLUGGED || container->state == HOST_CONTAINER_HELD ||
           (container->state == HOST_CONTAINER_READY &&
            container->guest->state == HOST_GUEST_DEGRADED);
}

/* Returns 0, -EAGAIN if its guest is starting, or another failure. */
static int try_take(struct host_call *host, struct rapahub_container_id target,
                    struct host_container_lifecycle *out)
{
    struct host_container *container =
        host_containers_find(&HOST_REGISTRY(host)->containers, target);
    struct host_route route;
    int r;

    if (!container || !container->guest || container->state == HOST_CONTAINER_GONE)
        return refuse_unknown(target);
    if (container->state == HOST_CONTAINER_HELD && container->gated)
        return -EAGAIN;
    if (!is_closed(container)) {
        r = host_route_find(host, target, &route);
        out->container = TAKE(route.container);
        out->life = TAKE(route.life);
        host_route_drop(&route);
        return r;
    }
    if (!container->guest->life)
        return -EAGAIN;
    hub_add(&container->users, 1);
    host_life_hold(container->guest->life);
    out->container = container;
    out->life = container->guest->life;
    return 0;
}

int host_container_lifecycle_take(struct host_call *host, struct rapahub_container_id target,
                                  uint64_t deadline_ns, struct host_container_lifecycle *out)
{
    int r;

    for (;;) {
        *out = (struct host_container_lifecycle){.host = host, .deadline_ns = deadline_ns};
        r = try_take(host, target, out);
        if (r == 0)
            return 0;
        host_container_lifecycle_drop(out);
        if (r != -EAGAIN)
            return r;
        if (hub_clock_left(deadline_ns) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the guest was not ready in time");
        r = host_wait_until(&host->process.owner, deadline_ns);
        if (r < 0)
            return r;
    }
}

void host_container_lifecycle_drop(struct host_container_lifecycle *care)
{
    if (care->life)
        host_life_drop(care->life);
    if (care->container)
        host_route_uncount(care->host, care->container);
    *care = (struct host_container_lifecycle){0};
}

static int ask(struct host_call *host, const struct host_container_lifecycle *care,
               enum hub_lifecycle_method method, const void *const *arguments, void *result)
{
    const void *all[ARGUMENTS_MAX + 2] = {&care->container->handle};
    const struct host_request_question question = {method, all, result, care->deadline_ns};

    for (size_t i = 0; arguments && arguments[i] && i < ARGUMENTS_MAX; i++)
        all[i + 1] = arguments[i];
    return host_request_ask(host, care->life, &question);
}

int host_container_lifecycle_ask(struct host_call *host, struct rapahub_container_id target,
                                 enum hub_lifecycle_method method, const void *const *arguments,
                                 void *result)
{
    struct host_container_lifecycle care;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &care);

    if (r < 0)
        return r;
    r = ask(host, &care, method, arguments, result);
    host_container_lifecycle_drop(&care);
    return r;
}

/* ---- plug, drain, save, remove ---- */

static void set_plugged(struct host_call *host, struct host_container *container, bool plugged)
{
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->plugged = plugged;
    host_containers_settle(container, "as asked");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
}

/* r[impl cluster.hold] */
int host_container_lifecycle_hold(struct host_call *host, struct rapahub_container_id target,
                                  bool held)
{
    struct host_container *container =
        host_containers_find(&HOST_REGISTRY(host)->containers, target);

    if (container && container->offer)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "the calls to an offer cannot be held");
    if (!container || !container->guest || container->state == HOST_CONTAINER_GONE)
        return refuse_unknown(target);
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->on_hold = held;
    host_containers_settle(container, "as asked");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
    host_loop_wake(&host->process.owner.loop); /* parked calls may go on */
    return 0;
}

/* Closes the container here before its guest is told, and opens it after that: no call arrives
 * while it is plugged there. */
int host_container_lifecycle_plug(struct host_call *host, struct rapahub_container_id target,
                                  bool plugged)
{
    const void *const arguments[] = {&plugged, NULL};
    struct host_container_lifecycle care;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &care);

    if (r < 0)
        return r;
    if (plugged)
        set_plugged(host, care.container, true);
    r = ask(host, &care, HUB_LIFECYCLE_PLUG, arguments, NULL);
    if (r == 0 && !plugged)
        set_plugged(host, care.container, false);
    if (r < 0 && plugged)
        set_plugged(host, care.container, false);
    host_container_lifecycle_drop(&care);
    return r;
}

static int check_closed(const struct host_container_lifecycle *care)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    if (care->container->state == HOST_CONTAINER_PLUGGED ||
        care->container->state == HOST_CONTAINER_HELD)
        return 0;
    return rapahub_fail(RAPAHUB_ESTATE, "", "container %s is not plugged",
                        host_containers_print(care->container->id, id));
}

/* Returns 1 if it is drained. The one user that remains is this function. */
static int look_drained(struct host_call *host, struct host_container_lifecycle *care)
{
    uint64_t work = 0, least = hub_clock_after(LOOK_LEAST);
    int r = check_closed(care);

    if (r < 0)
        return r;
    if (host_containers_users(care->container) > 1 ||
        host_caller_inside_container(&HOST_REGISTRY(host)->callers, care->container) != 0)
        return 0;
    care->container->sealed = true;
    if (care->deadline_ns < least)
        care->deadline_ns = least;
    r = ask(host, care, HUB_LIFECYCLE_WORK, NULL, &work);
    return r < 0 ? r : work == 0;
}

int host_container_lifecycle_drain(struct host_call *host, struct rapahub_container_id target,
                                   uint64_t timeout_ns)
{
    uint64_t deadline = hub_clock_after(timeout_ns);
    struct host_container_lifecycle care;
    int r = host_container_lifecycle_take(host, target, deadline, &care);

    if (r < 0)
        return r;
    while ((r = look_drained(host, &care)) == 0) {
        uint64_t again = hub_clock_after(LOOK_AGAIN);

        if (hub_clock_left(deadline) == 0) {
            r = rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the container still works");
            break;
        }
        r = host_wait_until(&host->process.owner, again < deadline ? again : deadline);
        if (r < 0)
            break;
    }
    host_container_lifecycle_drop(&care);
    return r < 0 ? r : 0;
}

int host_container_lifecycle_save(struct host_call *host, struct rapahub_container_id target,
                                  struct rapahub_sink *to)
{
    struct host_container_lifecycle care;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &care);

    if (r < 0)
        return r;
    r = check_closed(&care);
    if (r == 0) {
        struct host_state_transfer moves = {host, care.life, care.container, care.deadline_ns};

        r = host_state_transfer_save(&moves, to);
    }
    host_container_lifecycle_drop(&care);
    return r;
}

int host_container_lifecycle_save_changes(struct host_call *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_sink *to, bool *whole)
{
    struct host_container_lifecycle care;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &care);

    if (r < 0)
        return r;
    struct host_state_transfer moves = {host, care.life, care.container, care.deadline_ns};

    r = host_state_transfer_save_changes(&moves, to, whole);
    host_container_lifecycle_drop(&care);
    return r;
}

int host_container_lifecycle_load_changes(struct host_call *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_source *from)
{
    struct host_container_lifecycle care;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &care);

    if (r < 0)
        return r;
    r = check_closed(&care);
    if (r == 0) {
        struct host_state_transfer moves = {host, care.life, care.container, care.deadline_ns};

        r = host_state_transfer_load_changes(&moves, from);
    }
    host_container_lifecycle_drop(&care);
    return r;
}

/* Removes a container that no guest has: its guest has ended for good, or it waits to be begun
 * again. -EAGAIN for any other one. */
static int remove_gone(struct host_call *host, struct rapahub_container_id target)
{
    struct host_container *container =
        host_containers_find(&HOST_REGISTRY(host)->containers, target);

    if (!container || (!container->offer && container->state != HOST_CONTAINER_GONE &&
                       !host_containers_unbegun(container)))
        return -EAGAIN;
    if (container->offer)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "an offer lasts as long as its host");
    leave(host, container);
    host_loop_wake(&host->process.owner.loop); /* parked calls look for it again */
    return 0;
}

int host_container_lifecycle_remove(struct host_call *host, struct rapahub_container_id target)
{
    struct host_container_lifecycle care;
    int r = remove_gone(host, target);

    if (r != -EAGAIN)
        return r;
    r = host_container_lifecycle_take(host, target, deadline_of(host), &care);
    if (r < 0)
        return r;
    r = ask(host, &care, HUB_LIFECYCLE_FINI, NULL, NULL);
    if (r == 0) {
        host_routes_write(&HOST_REGISTRY(host)->routes);
        host_containers_move(care.container, HOST_CONTAINER_GONE, "as asked");
        host_routes_unlock(&HOST_REGISTRY(host)->routes);
        leave(host, care.container);
    }
    host_container_lifecycle_drop(&care);
    return r;
}
