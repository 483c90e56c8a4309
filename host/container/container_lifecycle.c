/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/container_lifecycle.h"

#include <string.h>

#include "host/call/call.h"
#include "host/call/inquiries.h"
#include "host/call/request.h"
#include "host/call/route.h"
#include "host/call/service.h"
#include "host/call/services.h"
#include "host/container/begin.h"
#include "host/container/state_transfer.h"
#include "host/owner/verdict.h"
#include "host/owner/wait.h"
#include "host/process/guest.h"
#include "host/roles/links.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define FINI_MOST HUB_SECOND /* for the end of a container that could not begin */

/* ---- begin ---- */

/* A function has a single deadline for everything that it asks a guest. r[impl sec.call.time] */
static uint64_t deadline_of(const struct host_call *host)
{
    return hub_clock_after(host->process.options.call_timeout_ns);
}

/* Runs its `fini`, if there is a guest that can. A guest that is late is told, and not waited for.
 * The result changes nothing. */
static void end_in_guest(struct host_call *host, struct host_life *life,
                         const struct host_container *container, bool late)
{
    const void *const arguments[] = {&container->handle, NULL};
    const struct host_request_question question = {HUB_LIFECYCLE_FINI, arguments, NULL,
                                                   hub_clock_after(FINI_MOST)};
    int r;

    if (hub_link_closed(life->connection.link) ||
        (late && host_begin_take_back(life, container->handle) == 0))
        return;
    r = host_request_ask(host, life, &question);
    if (host_begin_is_ended(r))
        host_begin_sure(life);
    else if (r == RAPAHUB_ETIMEDOUT)
        (void)host_begin_take_back(life, container->handle);
}

/* Asks the guest to begin it. Without an answer it may do so later: then it is taken back. */
static int ask_to_begin(struct host_call *host, struct host_life *life,
                        const struct host_container *container,
                        const struct host_request_question *question)
{
    struct host_verdict verdict;
    int r;

    host_begin_unsure(life);
    r = host_request_ask(host, life, question);
    if (r >= 0)
        return r;
    host_verdict_take(&verdict, r);
    if (r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_ECANCELED)
        end_in_guest(host, life, container, true);
    else
        host_begin_sure(life);
    return host_verdict_give(&verdict);
}

/* Builds its roles one after the other; after a failure the guest closes those that it has. */
static int build_roles(struct host_call *host, struct host_life *life,
                       const struct host_container *container, uint64_t deadline_ns)
{
    struct host_begin_role role;
    struct host_verdict verdict;
    bool is_late;
    int r = 0;

    for (uint32_t i = 0; r == 0 && host_begin_role(life, container, i, &role); i++) {
        const struct host_request_question question = {HUB_LIFECYCLE_ROLE, role.arguments, NULL,
                                                       deadline_ns};

        r = role.r == 0 ? host_request_ask(host, life, &question) : role.r;
        if (r == 0 && container->roles)
            host_links_built(life, &container->roles->of[i]);
    }
    if (r == 0)
        return 0;
    host_verdict_take(&verdict, r);
    is_late = role.r == 0 && (r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_ECANCELED);
    host_begin_unsure(life);
    if (is_late)
        (void)host_begin_name_role(life, &role); /* without space its region goes with the life */
    end_in_guest(host, life, container, is_late);
    return host_verdict_give(&verdict);
}

/* It is not shown before its guest has opened its roles. r[impl supervise.role.ready] */
static int open_roles(struct host_call *host, struct host_life *life,
                      const struct host_container *container, uint64_t deadline_ns)
{
    const uint8_t what = HUB_ROLES_OPEN;
    const void *const arguments[] = {&container->handle, &what, NULL};
    const struct host_request_question question = {HUB_LIFECYCLE_ROLES, arguments, NULL,
                                                   deadline_ns};

    return container->roles ? host_request_ask(host, life, &question) : 0;
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
    r = build_roles(host, life, container, moves.deadline_ns);
    if (r == 0)
        r = ask_to_begin(host, life, container, &question);
    if (r < 0)
        return r;
    if (begin->state)
        r = host_state_transfer_load(&moves, begin->state);
    if (r == 0)
        r = open_roles(host, life, container, moves.deadline_ns);
    if (r == 0)
        return 0;
    host_verdict_take(&verdict, r);
    end_in_guest(host, life, container, hub_clock_left(moves.deadline_ns) == 0);
    return host_verdict_give(&verdict);
}

int host_container_lifecycle_begin(struct host_call *host,
                                   const struct host_container_lifecycle_begin *begin)
{
    struct host_container *container;
    struct host_life *life = NULL;
    int r = host_begin_check(begin->options, begin->how);

    if (r == 0)
        r = host_begin_find(host, begin->guest, &life);
    if (r < 0)
        return r;
    r = host_begin_enter(host, begin->options, life->guest, &container);
    if (r == 0) {
        hub_add(&container->users, 1); /* another one may remove it if its guest ends for good */
        r = begin_in_guest(host, life, container, begin);
        if (r == 0)
            r = host_begin_show(host, life, container);
        if (r == 0)
            host_begin_sure(life);
        else
            host_begin_withdraw(host, container);
        host_route_uncount(host, container);
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
        r = host_begin_enter(host, options, guest, &container);
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
        r = host_begin_enter(host, options, NULL, &container);
    if (r < 0)
        return r;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->offer = TAKE(offer);
    host_containers_move(container, HOST_CONTAINER_READY, "it is offered");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return 0;
}

int host_container_lifecycle_inquire(struct host_call *host,
                                     const struct rapahub_container_options *options,
                                     const struct rapahub_inquiries *inquiries)
{
    OWN(host_inquiries) struct host_inquiries *made = NULL;
    struct host_container *container;
    int r = host_options_check_container(options);

    if (r == 0)
        r = host_inquiries_create(inquiries, &made);
    if (r == 0)
        r = host_begin_enter(host, options, NULL, &container);
    if (r < 0)
        return r;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    container->inquiries = TAKE(made);
    host_containers_move(container, HOST_CONTAINER_READY, "it is offered");
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return 0;
}

void host_container_lifecycle_free_offers(struct host_call *host)
{
    for (size_t i = 0; i < HOST_CONTAINERS_BUCKETS; i++) {
        HUB_LIST_EACH (&HOST_REGISTRY(host)->containers.buckets[i], link) {
            struct host_container *container = HUB_LIST_ITEM(link, struct host_container, bucket);

            host_service_release(&container->offer);
            host_inquiries_end(&container->inquiries);
        }
    }
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

    if (container && host_containers_is_offered(container))
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

int host_container_lifecycle_save(struct host_call *host, struct rapahub_container_id target,
                                  struct rapahub_sink *to)
{
    struct host_asked asked;
    int r = host_container_lifecycle_take(host, target, deadline_of(host), &asked);

    if (r < 0)
        return r;
    r = host_asked_check_closed(&asked);
    if (r == 0)
        r = host_asked_claim(&asked);
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

    r = host_asked_claim(&asked);
    if (r == 0)
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
    r = host_asked_check_closed(&asked);
    if (r == 0)
        r = host_asked_claim(&asked);
    if (r == 0) {
        struct host_state_transfer moves = {host, asked.life, asked.container, asked.deadline_ns};

        r = host_state_transfer_load_changes(&moves, from);
    }
    host_asked_drop(&asked);
    return r;
}
