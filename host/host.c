/* SPDX-License-Identifier: Apache-2.0 */
/* host: the functions of <rapahub/host.h>. */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/call/async_call.h"
#include "host/call/corks.h"
#include "host/call/nested_upcall.h"
#include "host/call/route.h"
#include "host/call/route_call.h"
#include "host/call/router.h"
#include "host/call/streaming.h"
#include "host/container/container_lifecycle.h"
#include "host/forked_end.h"
#include "host/guest/activation.h"
#include "host/guest/admission.h"
#include "host/guest/children.h"
#include "host/guest/exit_command.h"
#include "host/guest/guest_table.h"
#include "host/guest/status.h"
#include "host/guest/supervision.h"
#include "host/guest/watch.h"
#include "host/hooks.h"
#include "host/lives/after_exit.h"
#include "host/lives/anonymous.h"
#include "host/lives/death.h"
#include "host/lives/guests.h"
#include "host/lives/startup.h"
#include "host/observe/observer.h"
#include "host/owner/detached.h"
#include "host/owner/forked.h"
#include "host/owner/owner.h"
#include "host/owner/ownership.h"
#include "host/turn.h"
#include "hub/base/clock.h"
#include "hub/base/mapping.h"
#include "hub/base/own.h"
#include "hub/base/rlimit.h"

#define WATCHES_EACH 5 /* per guest: pidfd, doorbell, two pipes, fd store */

/* ---- create and destroy ---- */

static void free_host(struct rapahub_host *host)
{
    host_observer_end_all(HOST_OBSERVE(host));
    host_monitors_fini(&host->observe.monitors);
    host_supervision_close(HOST_SUPERVISION(host));
    host_spawn_close(&HOST_PROCESS(host)->spawner);
    host_lookout_close(&HOST_OWNER(host)->lookout);
    host_futexes_close(&HOST_OWNER(host)->futexes);
    if (HOST_PROCESS(host)->shared)
        host_lease_leave(&HOST_PROCESS(host)->lease, HOST_PROCESS(host)->shared);
    host_group_release(&HOST_PROCESS(host)->shared);
    host_lease_fini(&HOST_PROCESS(host)->lease);
    host_modules_fini(&HOST_PROCESS(host)->modules);
    host_container_lifecycle_free_offers(HOST_CALL(host));
    host_containers_fini(&HOST_REGISTRY(host)->containers);
    host_regions_fini(&HOST_CALL(host)->regions);
    host_events_fini(&HOST_OWNER(host)->events);
    host_asyncs_close(&HOST_CALL(host)->asyncs);
    host_caller_close(&HOST_REGISTRY(host)->callers);
    hub_mutex_fini(&HOST_CALL(host)->loans.lock);
    host_loop_fini(&HOST_OWNER(host)->loop);
    host_threads_fini(&HOST_OWNER(host)->threads);
    host_options_fini(&HOST_PROCESS(host)->options);
    if (HOST_PROCESS(host)->has_cgroup)
        hub_fd_release(&HOST_PROCESS(host)->cgroup);
    host_routes_fini(&HOST_REGISTRY(host)->routes);
    host_children_free(HOST_SUPERVISION(host));
    free(HOST_REGISTRY(host)->guests);
    hub_closer_release(&HOST_PROCESS(host)->closer);
    host_forked_free(host);
}

static void on_linger(void *user)
{
    (void)user; /* the turn that this timer brought looks again */
}

static struct rapahub_host *new_host(void)
{
    struct rapahub_host *host = host_forked_new(sizeof *host);

    if (host && hub_closer_create(&HOST_PROCESS(host)->closer) < 0) {
        host_forked_free(host);
        host = NULL;
    }
    if (!host)
        return NULL;
    host_hooks_fill(host);
    host_routes_init(&HOST_REGISTRY(host)->routes);
    HOST_OWNER(host)->loop.epoll = HOST_OWNER(host)->loop.timer = HOST_OWNER(host)->loop.bell = -1;
    host_threads_init(&HOST_OWNER(host)->threads);
    host_containers_init(&HOST_REGISTRY(host)->containers);
    host_regions_init(&HOST_CALL(host)->regions);
    host_events_init(&HOST_OWNER(host)->events);
    host_futexes_init(&HOST_OWNER(host)->futexes);
    hub_thread_pool_init(&HOST_CALL(host)->waiters);
    hub_list_init(&HOST_PROCESS(host)->lives);
    hub_list_init(&HOST_PROCESS(host)->ended);
    hub_list_init(&HOST_OWNER(host)->detached);
    host_changes_init(&HOST_OWNER(host)->changes);
    hub_list_init(&HOST_CALL(host)->relays);
    host_router_init(&HOST_CALL(host)->router);
    HOST_CALL(host)->chains = host_chains_first();
    host_chains_open(&HOST_CALL(host)->names);
    hub_list_init(&host->observe.supervision.supervisors);
    hub_list_init(&host->observe.observers);
    host_monitors_init(&host->observe.monitors);
    host_loans_open(&HOST_CALL(host)->loans);
    host_lease_init(&HOST_PROCESS(host)->lease);
    host_modules_init(&HOST_PROCESS(host)->modules);
    HOST_PROCESS(host)->linger.on = on_linger;
    host_zombies_open(&HOST_PROCESS(host)->zombies, &HOST_OWNER(host)->loop);
    return host;
}

/* Anonymous guests must find a segment. */
static int open_shared(struct rapahub_host *host)
{
    const struct host_group_plan plan = {.number = ++HOST_PROCESS(host)->groups,
                                         .shared = true,
                                         .anonymous = true,
                                         .path = HOST_PROCESS(host)->options.path};
    int r =
        host_group_create(&HOST_PROCESS(host)->options.limits, &plan, &HOST_PROCESS(host)->shared);

    if (r == 0) {
        host_lease_join(&HOST_PROCESS(host)->lease, HOST_PROCESS(host)->shared);
        host_watch_begin(HOST_SUPERVISION(host));
    }
    return r;
}

static int open_host(struct rapahub_host *host, const struct rapahub_host_options *options)
{
    int r = host_asyncs_open(&HOST_CALL(host)->asyncs);

    if (r == 0)
        r = host_options_take(options, &HOST_PROCESS(host)->options);
    if (r == 0)
        r = host_caller_open(&HOST_REGISTRY(host)->callers);
    if (r < 0)
        return r;
    HOST_OWNER(host)->events.on_event = HOST_PROCESS(host)->options.on_event;
    HOST_OWNER(host)->events.user = HOST_PROCESS(host)->options.user;
    HOST_REGISTRY(host)->admitted_max = HOST_PROCESS(host)->options.admitted_max;
    HOST_REGISTRY(host)->guests_max =
        HOST_PROCESS(host)->options.limits.guests_max + HOST_REGISTRY(host)->admitted_max;
    HOST_REGISTRY(host)->guests =
        calloc(HOST_REGISTRY(host)->guests_max, sizeof *HOST_REGISTRY(host)->guests);
    if (!HOST_REGISTRY(host)->guests)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u guests",
                            HOST_REGISTRY(host)->guests_max);
    /* Twice as many: the watches of ended lives last a moment longer. */
    r = host_loop_init(&HOST_OWNER(host)->loop, 2 * WATCHES_EACH * HOST_REGISTRY(host)->guests_max);
    if (r < 0)
        return r;
    r = host_supervision_open(HOST_SUPERVISION(host));
    if (r < 0)
        return r;
    hub_mapping_sweep(HUB_SEGMENT_PREFIX, false);
    if (HOST_PROCESS(host)->options.anonymous)
        r = open_shared(host);
    if (r < 0)
        return r;
    return HOST_PROCESS(host)->options.own_thread ? host_threads_start(HOST_OWNER(host)) : 0;
}

int rapahub_host_create(const struct rapahub_host_options *options, struct rapahub_host **out)
{
    struct rapahub_host *host = new_host();
    int r;

    if (!host)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a host");
    r = open_host(host, options);
    if (r < 0) {
        hub_rlimit_explain(r, 0);
        free_host(host);
        return r;
    }
    *out = host;
    return 0;
}

static int run_destroy(struct rapahub_host *host, void *argument)
{
    (void)argument;
    HOST_PROCESS(host)->closing = true;
    host_guests_stop_all(HOST_OBSERVE(host));
    (void)host_death_deliver(HOST_OBSERVE(host));
    host_detached_end_all(HOST_OWNER(host));
    host_asyncs_end_parked(HOST_CALL(host), RAPAHUB_EDIED, "the host ends");
    host_router_close(HOST_CALL(host));
    host_streaming_end(HOST_CALL(host));
    host_routed_take_back_all(&HOST_CALL(host)->router, &HOST_CALL(host)->asyncs);
    while (host_events_deliver(HOST_OWNER(host)) > 0)
        continue;
    host_loans_close(&HOST_CALL(host)->loans);
    host_caller_hide_all(&HOST_REGISTRY(host)->callers);
    HOST_OWNER(host)->depth = 1;
    host_death_sweep_all(HOST_OBSERVE(host));
    host_zombies_close(&HOST_PROCESS(host)->zombies);
    HOST_OWNER(host)->depth = 0;
    host_guests_free_all(HOST_OBSERVE(host));
    host_containers_sweep(&HOST_REGISTRY(host)->containers, NULL, NULL);
    return 0;
}

/* The library's thread is stopped by another one, never by itself. */
static int check_may_destroy(struct rapahub_host *host)
{
    return HOST_OWNER(host)->threads.own && !host_ownership_is_owner(HOST_OWNER(host))
               ? 0
               : host_ownership_check(HOST_OWNER(host));
}

void rapahub_host_destroy(struct rapahub_host *host)
{
    if (!host)
        return;
    if (host_forked_check(HOST_OWNER(host)) < 0) {
        host_forked_end(host);
        return;
    }
    if (check_may_destroy(host) < 0) {
        rapahub_log(RAPAHUB_LOG_ERROR, "host", "destroyed from a wrong place: %s",
                    rapahub_last_error()->text);
        return;
    }
    host_threads_stop(HOST_OWNER(host));
    run_destroy(host, NULL);
    free_host(host);
}

/* ---- guests ---- */

int rapahub_host_spawn(struct rapahub_host *host, const struct rapahub_guest_options *options,
                       struct rapahub_guest_id *out)
{
    struct host_admission_spawn spawn = {.options = options, .out = out};

    return host_threads_await(HOST_OWNER(host), &host_admission_spawn_task, &spawn);
}

const char *rapahub_host_path(const struct rapahub_host *host)
{
    if (host_forked_check(&host->observe.supervision.call.process.owner) < 0)
        return NULL;
    return host->observe.supervision.call.process.options.anonymous
               ? host->observe.supervision.call.process.shared->segment->mapping.path
               : NULL;
}

uint32_t rapahub_host_quarantined(const struct rapahub_host *host)
{
    return host_forked_check(&host->observe.supervision.call.process.owner) == 0 &&
                   host->observe.supervision.call.process.shared
               ? host->observe.supervision.call.process.shared->quarantined
               : 0;
}

static int run_add(struct host_owner *host, void *argument)
{
    return host_container_lifecycle_begin(HOST_CALL(host), argument);
}

int rapahub_host_add_container(struct rapahub_host *host, struct rapahub_guest_id guest,
                               const struct rapahub_container_options *options)
{
    struct host_container_lifecycle_begin begin = {guest, options, RAPAHUB_BEGIN_INIT, NULL};

    return host_threads_run(HOST_OWNER(host), run_add, &begin);
}

struct offer_job {
    const struct rapahub_container_options *options;
    const struct rapahub_method *methods;
    void *self;
};

static int run_offer(struct host_owner *host, void *argument)
{
    const struct offer_job *job = argument;

    if (job->options->routed)
        return rapahub_fail(RAPAHUB_EINVAL, "", "what this process offers is not routed");
    return host_container_lifecycle_offer(HOST_CALL(host), job->options, job->methods, job->self);
}

int rapahub_host_offer(struct rapahub_host *host, const struct rapahub_container_options *options,
                       const struct rapahub_method *methods, void *self)
{
    struct offer_job job = {options, methods, self};

    return host_threads_run(HOST_OWNER(host), run_offer, &job);
}

static void visit_methods(const struct host_methods *methods,
                          void (*visit)(void *user, const char *signature), void *user)
{
    for (uint32_t i = 0; i < methods->count; i++)
        visit(user, methods->list[i]->text);
}

int rapahub_host_methods(struct rapahub_host *host, struct rapahub_container_id target,
                         void (*visit)(void *user, const char *signature), void *user)
{
    struct host_route route;
    int r = host_forked_check(HOST_OWNER(host));

    if (r < 0)
        return r;
    r = host_route_find(HOST_CALL(host), target, &route);
    if (r == -ENOENT && hub_load_relaxed(&HOST_CALL(host)->router.set) != 0)
        r = host_router_methods(HOST_CALL(host), target, visit, user);
    if (route.methods) {
        visit_methods(route.methods, visit, user);
        r = 0;
    }
    host_route_drop(&route);
    return r;
}

int rapahub_host_guest_methods(struct rapahub_host *host, struct rapahub_guest_id id,
                               void (*visit)(void *user, const char *signature), void *user)
{
    struct host_methods *methods = NULL;
    const struct host_guest *guest;
    int r = host_forked_check(HOST_OWNER(host));

    if (r < 0)
        return r;
    host_routes_read(&HOST_REGISTRY(host)->routes);
    guest = host_guest_find(HOST_PROCESS(host), id);
    if (guest && guest->methods)
        methods = host_methods_hold(guest->methods);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    if (!methods)
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such guest any more");
    visit_methods(methods, visit, user);
    host_methods_release(&methods);
    return 0;
}

struct visit_job {
    void (*visit)(void *user, const struct rapahub_guest_status *status);
    void *user;
};

/* A guest that has gone for good is kept only until its entry of the guest table is needed. */
static bool is_past(const struct host_guest *guest)
{
    bool closed =
        guest->closed && !host_guest_table_is_used(guest) && host_supervision_is_one_of_many(guest);

    return closed || (guest->anonymous && guest->state == HOST_GUEST_CLOSED);
}

static int run_guests(struct host_owner *host, void *argument)
{
    const struct visit_job *job = argument;

    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++) {
        struct rapahub_guest_status status;

        if (!HOST_REGISTRY(host)->guests[i] || is_past(HOST_REGISTRY(host)->guests[i]))
            continue;
        host_status_of(HOST_REGISTRY(host)->guests[i], &status);
        HOST_OWNER(host)->callbacks++;
        job->visit(job->user, &status);
        HOST_OWNER(host)->callbacks--;
    }
    return 0;
}

int rapahub_host_guests(struct rapahub_host *host,
                        void (*visit)(void *user, const struct rapahub_guest_status *status),
                        void *user)
{
    struct visit_job job = {visit, user};

    return host_threads_look(HOST_OWNER(host), run_guests, &job); /* allowed in a callback too */
}

struct figures_job {
    struct rapahub_guest_id guest;
    void (*visit)(void *user, const struct rapahub_figure *figure);
    void *user;
};

static int run_figures(struct host_owner *host, void *argument)
{
    const struct figures_job *job = argument;
    const struct host_guest *guest = host_guest_find(HOST_PROCESS(host), job->guest);

    if (!guest)
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such guest any more");
    HOST_OWNER(host)->callbacks++;
    host_figures_visit(&guest->totals.figures, guest->life ? &guest->life->connection : NULL,
                       job->visit, job->user);
    HOST_OWNER(host)->callbacks--;
    return 0;
}

int rapahub_host_figures(struct rapahub_host *host, struct rapahub_guest_id guest,
                         void (*visit)(void *user, const struct rapahub_figure *figure), void *user)
{
    struct figures_job job = {guest, visit, user};

    return host_threads_look(HOST_OWNER(host), run_figures, &job); /* allowed in a callback too */
}

/* ---- calls ---- */

int rapahub_host_call(struct rapahub_host *host, const struct rapahub_call *call, void *result)
{
    return host_route_call(HOST_CALL(host), call, result);
}

/* The routes that threads know by heart are looked up again, for a container under a lease is not
 * called by such a route: host/call/route_cache.c. */
void rapahub_host_lease(struct rapahub_host *host, uint64_t until_ns)
{
    if (host_forked_check(HOST_OWNER(host)) < 0)
        return;
    host_lease_set(&HOST_PROCESS(host)->lease, until_ns);
    host_routes_expire(&HOST_REGISTRY(host)->routes);
}

int rapahub_host_loan(struct rapahub_host *host, struct rapahub_container_id target, size_t size,
                      struct rapahub_loan *out)
{
    int r = host_forked_check(HOST_OWNER(host));

    return r < 0 ? r : host_loans_take(HOST_CALL(host), target, size, out);
}

void rapahub_host_drop_loan(struct rapahub_host *host, struct rapahub_loan *loan)
{
    if (host_forked_check(HOST_OWNER(host)) == 0)
        host_loans_drop(HOST_CALL(host), loan);
}

int rapahub_host_call_async(struct rapahub_host *host, const struct rapahub_call *call,
                            rapahub_on_done *on_done, void *user, struct rapahub_request_id *out)
{
    const struct host_async_call_order order = {call, on_done, user};
    struct host_async_begun begun;
    int r = host_async_call_begin(HOST_CALL(host), &order, &begun);

    if (r < 0)
        return r;
    if (out)
        out->number = begun.number;
    host_turn_expect(host, begun.deadline_ns);
    return 0;
}

int rapahub_host_cork(struct rapahub_host *host, struct rapahub_container_id target, bool corked)
{
    int r = host_forked_check(HOST_OWNER(host));

    return r < 0 ? r : host_corks_set(HOST_CALL(host), target, corked);
}

void rapahub_host_cancel(struct rapahub_host *host, struct rapahub_request_id request)
{
    if (host_forked_check(HOST_OWNER(host)) == 0)
        host_asyncs_cancel(HOST_CALL(host), request.number);
}

/* ---- loop ---- */

int rapahub_host_fd(const struct rapahub_host *host)
{
    int r = host_forked_check(&host->observe.supervision.call.process.owner);

    if (r < 0)
        return r;
    host_turn_show((struct rapahub_host *)(uintptr_t)host);
    return host->observe.supervision.call.process.owner.loop.epoll;
}

int rapahub_host_dispatch(struct rapahub_host *host, int timeout_ms)
{
    int r = host_ownership_check(HOST_OWNER(host));

    return r < 0 ? r : host_turn(host, timeout_ms);
}
