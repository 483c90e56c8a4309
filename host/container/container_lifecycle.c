/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/container_lifecycle.h"

#include <string.h>

#include "host/call/call.h"
#include "host/call/request.h"
#include "host/call/service.h"
#include "host/call/services.h"
#include "host/container/state_transfer.h"
#include "host/owner/changes.h"
#include "host/owner/verdict.h"
#include "host/owner/wait.h"
#include "host/process/guest.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define SPACE_AGAIN (2 * HUB_MILLISECOND) /* until there may be space for a message */
#define FINI_MOST   HUB_SECOND            /* for the end of a container that could not begin */

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

/* A function has a single deadline for everything that it asks a guest. r[impl sec.call.time] */
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

static int check_begin(const struct rapahub_container_options *options, enum rapahub_begin how)
{
    int r = host_options_check_container(options);

    if (r == 0 && (unsigned)how > RAPAHUB_BEGIN_RECOVER)
        r = rapahub_fail(RAPAHUB_EINVAL, "", "%d is no way to begin", (int)how);
    return r;
}

int host_container_lifecycle_begin(struct host_call *host,
                                   const struct host_container_lifecycle_begin *begin)
{
    struct host_container *container;
    struct host_life *life = NULL;
    int r = check_begin(begin->options, begin->how);

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

/* ---- begin, without a wait ---- */

static void ask_to_begin(struct host_container_lifecycle_beginning *beginning);

static void end_beginning(struct host_container_lifecycle_beginning *beginning, int r)
{
    struct host_asked *asked = &beginning->asked;

    if (r == 0)
        r = show(asked->host, asked->life, asked->container);
    if (r < 0) {
        host_verdict_take(&beginning->verdict, r);
        withdraw(asked->host, asked->container);
    }
    host_life_drop(asked->life);
    host_loop_clear(&beginning->timer);
    beginning->over = true;
    host_changes_tell(HOST_OWNER(asked->host));
}

static void on_begun(void *user, int code, struct hub_answer *answer)
{
    struct host_container_lifecycle_beginning *beginning = user;
    struct host_life *life = beginning->asked.life;
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_BEGIN].name;

    end_beginning(beginning,
                  code < 0 ? host_life_explain(life, code, name)
                           : host_request_decode(life, answer, name, &rapahub_type_void, NULL));
}

static void on_space(void *user)
{
    ask_to_begin(user);
}

/* r[impl cluster.step] */
static void ask_to_begin(struct host_container_lifecycle_beginning *beginning)
{
    struct host_asked *asked = &beginning->asked;
    struct hub_begin begin;
    const void *const arguments[] = {&begin, &asked->container->token, NULL};
    struct host_request_message message = {.arguments = arguments,
                                           .done = on_begun,
                                           .user = beginning,
                                           .deadline_ns = asked->deadline_ns};
    int r;

    message.method = host_containers_describe(asked->container, asked->container->token, &begin);
    begin.how = (uint8_t)beginning->how;
    r = host_request_send(asked->life, &message);
    if (r == -EAGAIN && hub_clock_left(asked->deadline_ns) == 0)
        r = rapahub_fail(RAPAHUB_ETIMEDOUT, "", "there was no space for a message");
    if (r == -EAGAIN)
        host_loop_set(&HOST_OWNER(asked->host)->loop, &beginning->timer,
                      hub_clock_after(SPACE_AGAIN));
    else if (r < 0)
        end_beginning(beginning, r);
}

static int begin_task(struct host_owner *owner, void *argument)
{
    struct host_container_lifecycle_beginning *beginning = argument;
    struct host_call *host = HOST_CALL(owner);
    struct host_asked *asked = &beginning->asked;
    int r = check_begin(beginning->options, beginning->how);

    asked->host = host;
    asked->deadline_ns =
        beginning->timeout_ns ? hub_clock_after(beginning->timeout_ns) : deadline_of(host);
    if (r == 0)
        r = find_life(host, beginning->guest, &asked->life);
    if (r < 0)
        return r;
    r = enter(host, beginning->options, asked->life->guest, &asked->container);
    if (r < 0) {
        host_life_drop(asked->life);
        return r;
    }
    beginning->timer.on = on_space;
    beginning->timer.user = beginning;
    ask_to_begin(beginning);
    return 0;
}

static bool is_begun(const void *argument)
{
    return ((const struct host_container_lifecycle_beginning *)argument)->over;
}

static int end_task(struct host_owner *owner, void *argument)
{
    (void)owner;
    return host_verdict_give(&((struct host_container_lifecycle_beginning *)argument)->verdict);
}

const struct host_threads_task host_container_lifecycle_beginning_task = {begin_task, is_begun,
                                                                          end_task};

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

int host_container_lifecycle_take(struct host_call *host, struct rapahub_container_id target,
                                  uint64_t deadline_ns, struct host_asked *out)
{
    int r;

    for (;;) {
        *out = (struct host_asked){.host = host, .deadline_ns = deadline_ns};
        r = host_asked_try(out, target);
        if (r != -EAGAIN)
            return r;
        if (hub_clock_left(deadline_ns) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the guest was not ready in time");
        r = host_wait_until(&host->process.owner, deadline_ns);
        if (r < 0)
            return r;
    }
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
        return host_asked_refuse(target);
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->on_hold = held;
    host_containers_settle(container, "as asked");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_routes_announce(&HOST_REGISTRY(host)->routes);
    host_loop_wake(&host->process.owner.loop); /* parked calls may go on */
    return 0;
}

static int check_closed(const struct host_asked *asked)
{
    char id[HOST_CONTAINERS_ID_SIZE];

    if (asked->container->state == HOST_CONTAINER_PLUGGED ||
        asked->container->state == HOST_CONTAINER_HELD)
        return 0;
    return rapahub_fail(RAPAHUB_ESTATE, "", "container %s is not plugged",
                        host_containers_print(asked->container->id, id));
}

int host_container_lifecycle_save(struct host_call *host, struct rapahub_container_id target,
                                  struct rapahub_sink *to)
{
    struct host_asked asked;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &asked);

    if (r < 0)
        return r;
    r = check_closed(&asked);
    if (r == 0) {
        struct host_state_transfer moves = {host, asked.life, asked.container, asked.deadline_ns};

        r = host_state_transfer_save(&moves, to);
    }
    host_asked_drop(&asked);
    return r;
}

int host_container_lifecycle_save_changes(struct host_call *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_sink *to, bool *whole)
{
    struct host_asked asked;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &asked);

    if (r < 0)
        return r;
    struct host_state_transfer moves = {host, asked.life, asked.container, asked.deadline_ns};

    r = host_state_transfer_save_changes(&moves, to, whole);
    host_asked_drop(&asked);
    return r;
}

int host_container_lifecycle_load_changes(struct host_call *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_source *from)
{
    struct host_asked asked;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &asked);

    if (r < 0)
        return r;
    r = check_closed(&asked);
    if (r == 0) {
        struct host_state_transfer moves = {host, asked.life, asked.container, asked.deadline_ns};

        r = host_state_transfer_load_changes(&moves, from);
    }
    host_asked_drop(&asked);
    return r;
}
