/* SPDX-License-Identifier: Apache-2.0 */
/* host: the functions of <rapahub/host.h>. */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/async_call.h"
#include "host/caller.h"
#include "host/care.h"
#include "host/children.h"
#include "host/corks.h"
#include "host/death.h"
#include "host/decide.h"
#include "host/detached.h"
#include "host/enrol.h"
#include "host/finish.h"
#include "host/forked.h"
#include "host/forked_end.h"
#include "host/guests.h"
#include "host/nested.h"
#include "host/observer.h"
#include "host/offer.h"
#include "host/route.h"
#include "host/route_call.h"
#include "host/startup.h"
#include "host/status.h"
#include "host/streaming.h"
#include "host/supervision.h"
#include "host/turn.h"
#include "host/visitors.h"
#include "host/watch.h"
#include "hub/base/clock.h"
#include "hub/base/mapping.h"
#include "hub/base/own.h"
#include "hub/base/rlimit.h"

#define WATCHES_EACH 5 /* of a guest: pidfd, doorbell, two pipes, what it gives to keep */

static const struct host_hooks hooks = {
    .lives = {.attached = host_guests_attached,
              .ready = host_guests_ready,
              .open = host_guests_open,
              .leaving = host_guests_leaving,
              .stuck = host_guests_abort,
              .may_be_dead = host_death_look,
              .on_pidfd = host_death_on_pidfd,
              .on_bell = host_death_on_bell},
    .decisions = {.start = host_guests_start,
                  .move = host_decide_moved,
                  .ask = host_guests_ask,
                  .finish = host_finish_kill,
                  .end = host_guests_end},
    .listeners = {.added = host_observer_added,
                  .deciding = host_observer_moved,
                  .decided = host_monitors_moved,
                  .reaped = host_observer_reaped},
    .turn = host_turn,
    .turn_until = host_turn_until,
    .serve = host_nested_serve,
    .serve_queued = host_nested_serve_queued,
    .called = host_supervision_called,
    .visitors = host_visitors_look,
    .stream = host_streaming_start,
    .ready = host_startup_ready,
};

/* ---- create and destroy ---- */

static void free_offers(struct rapahub_host *host)
{
    for (size_t i = 0; i < HOST_CONTAINERS_BUCKETS; i++)
        HUB_LIST_EACH (&host->containers.buckets[i], link)
            host_offer_release(&HUB_LIST_ITEM(link, struct host_container, bucket)->offer);
}

static void free_host(struct rapahub_host *host)
{
    host_observer_end_all(host);
    host_monitors_fini(&host->monitors);
    host_supervision_close(host);
    host_spawn_close(&host->spawner);
    host_lookout_close(&host->lookout);
    host_futexes_close(&host->futexes);
    host_group_release(&host->shared);
    host_modules_fini(&host->modules);
    free_offers(host);
    host_containers_fini(&host->containers);
    host_events_fini(&host->events);
    host_asyncs_close(&host->asyncs);
    host_scratch_close(&host->scratches);
    hub_mutex_fini(&host->loans.lock);
    host_loop_fini(&host->loop);
    host_threads_fini(&host->threads);
    host_options_fini(&host->options);
    if (host->has_cgroup)
        hub_fd_release(&host->cgroup);
    host_routes_fini(&host->routes);
    host_children_free(host);
    free(host->guests);
    hub_closer_release(&host->closer);
    host_forked_free(host);
}

static void on_linger(void *user)
{
    (void)user; /* the turn that this timer brought looks again */
}

static struct rapahub_host *new_host(void)
{
    struct rapahub_host *host = host_forked_new();

    if (host && hub_closer_create(&host->closer) < 0) {
        host_forked_free(host);
        host = NULL;
    }
    if (!host)
        return NULL;
    host->hooks = &hooks;
    host_routes_init(&host->routes);
    host->loop.epoll = host->loop.timer = host->loop.bell = -1;
    host_threads_init(&host->threads);
    host_containers_init(&host->containers);
    host_events_init(&host->events);
    host_futexes_init(&host->futexes);
    hub_crew_init(&host->waiters);
    hub_list_init(&host->lives);
    hub_list_init(&host->ended);
    hub_list_init(&host->detached);
    hub_list_init(&host->relays);
    host->chains = host_chains_first();
    hub_list_init(&host->supervisors);
    hub_list_init(&host->observers);
    host_monitors_init(&host->monitors);
    host_loans_open(&host->loans);
    host_modules_init(&host->modules);
    host->linger.on = on_linger;
    host_zombies_open(&host->zombies, &host->loop);
    return host;
}

/* Who comes by itself must find a segment. */
static int open_shared(struct rapahub_host *host)
{
    const struct host_group_plan plan = {
        .number = ++host->groups, .shared = true, .anonymous = true, .path = host->options.path};
    int r = host_group_create(&host->options.limits, &plan, &host->shared);

    if (r == 0)
        host_watch_begin(host);
    return r;
}

static int open_host(struct rapahub_host *host, const struct rapahub_host_options *options)
{
    int r = host_asyncs_open(&host->asyncs);

    if (r == 0)
        r = host_options_take(options, &host->options);
    if (r == 0)
        r = host_scratch_open(&host->scratches);
    if (r < 0)
        return r;
    host->guests_max = host->options.limits.guests_max;
    host->guests = calloc(host->guests_max, sizeof *host->guests);
    if (!host->guests)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u guests", host->guests_max);
    /* Twice as many: those of lives that have ended stay watched for a moment. */
    r = host_loop_init(&host->loop, 2 * WATCHES_EACH * host->guests_max);
    if (r < 0)
        return r;
    r = host_supervision_open(host);
    if (r < 0)
        return r;
    hub_mapping_sweep(HUB_SEGMENT_PREFIX, false);
    if (host->options.anonymous)
        r = open_shared(host);
    if (r < 0)
        return r;
    return host->options.own_thread ? host_threads_start(host) : 0;
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
    host->closing = true;
    host_guests_stop_all(host);
    (void)host_death_deliver(host);
    host_detached_end_all(host);
    host_asyncs_end_parked(host, RAPAHUB_EDIED, "the host ends");
    host_streaming_end(host);
    while (host_events_deliver(host) > 0)
        continue;
    host_loans_close(&host->loans);
    host_scratch_hide_all(&host->scratches);
    host->depth = 1;
    host_death_sweep_all(host);
    host_zombies_close(&host->zombies);
    host->depth = 0;
    host_guests_free_all(host);
    host_containers_sweep(&host->containers, NULL, NULL);
    return 0;
}

/* The library's thread is stopped by another one, never by itself. */
static int check_may_destroy(struct rapahub_host *host)
{
    return host->threads.own && !host_caller_is_owner(host) ? 0 : host_caller_check(host);
}

void rapahub_host_destroy(struct rapahub_host *host)
{
    if (!host)
        return;
    if (host_forked_check(host) < 0) {
        host_forked_end(host);
        return;
    }
    if (check_may_destroy(host) < 0) {
        rapahub_log(RAPAHUB_LOG_ERROR, "host", "destroyed from a wrong place: %s",
                    rapahub_last_error()->text);
        return;
    }
    host_threads_stop(host);
    run_destroy(host, NULL);
    free_host(host);
}

/* ---- guests ---- */

int rapahub_host_spawn(struct rapahub_host *host, const struct rapahub_guest_options *options,
                       struct rapahub_guest_id *out)
{
    struct host_enrol_spawn spawn = {.options = options, .out = out};

    return host_threads_await(host, &host_enrol_spawn_task, &spawn);
}

const char *rapahub_host_path(const struct rapahub_host *host)
{
    if (host_forked_check(host) < 0)
        return NULL;
    return host->options.anonymous ? host->shared->segment->mapping.path : NULL;
}

uint32_t rapahub_host_quarantined(const struct rapahub_host *host)
{
    return host_forked_check(host) == 0 && host->shared ? host->shared->quarantined : 0;
}

static int run_add(struct rapahub_host *host, void *argument)
{
    return host_care_begin(host, argument);
}

int rapahub_host_add_container(struct rapahub_host *host, struct rapahub_guest_id guest,
                               const struct rapahub_container_options *options)
{
    struct host_care_begin begin = {guest, options, RAPAHUB_BEGIN_INIT, NULL};

    return host_threads_run(host, run_add, &begin);
}

struct offer_job {
    const struct rapahub_container_options *options;
    const struct rapahub_method *methods;
    void *self;
};

static int run_offer(struct rapahub_host *host, void *argument)
{
    const struct offer_job *job = argument;

    return host_care_offer(host, job->options, job->methods, job->self);
}

int rapahub_host_offer(struct rapahub_host *host, const struct rapahub_container_options *options,
                       const struct rapahub_method *methods, void *self)
{
    struct offer_job job = {options, methods, self};

    return host_threads_run(host, run_offer, &job);
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
    int r = host_forked_check(host);

    if (r < 0)
        return r;
    r = host_route_find(host, target, &route);
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
    int r = host_forked_check(host);

    if (r < 0)
        return r;
    host_routes_read(&host->routes);
    guest = host_guest_find(host, id);
    if (guest && guest->methods)
        methods = host_methods_hold(guest->methods);
    host_routes_unlock(&host->routes);
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

/* Who came by itself and has gone is kept only until its place is wanted. */
static bool is_past_visitor(const struct host_guest *guest)
{
    return guest->anonymous && guest->state == HOST_GUEST_CLOSED;
}

static int run_guests(struct rapahub_host *host, void *argument)
{
    const struct visit_job *job = argument;

    for (uint32_t i = 0; i < host->guests_max; i++) {
        struct rapahub_guest_status status;

        if (!host->guests[i] || is_past_visitor(host->guests[i]))
            continue;
        host_status_of(host->guests[i], &status);
        host->callbacks++;
        job->visit(job->user, &status);
        host->callbacks--;
    }
    return 0;
}

int rapahub_host_guests(struct rapahub_host *host,
                        void (*visit)(void *user, const struct rapahub_guest_status *status),
                        void *user)
{
    struct visit_job job = {visit, user};

    return host_threads_look(host, run_guests, &job); /* from a callback too */
}

struct figures_job {
    struct rapahub_guest_id guest;
    void (*visit)(void *user, const struct rapahub_figure *figure);
    void *user;
};

static int run_figures(struct rapahub_host *host, void *argument)
{
    const struct figures_job *job = argument;
    const struct host_guest *guest = host_guest_find(host, job->guest);

    if (!guest)
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such guest any more");
    host->callbacks++;
    host_figures_visit(&guest->figures, guest->life ? &guest->life->connection : NULL, job->visit,
                       job->user);
    host->callbacks--;
    return 0;
}

int rapahub_host_figures(struct rapahub_host *host, struct rapahub_guest_id guest,
                         void (*visit)(void *user, const struct rapahub_figure *figure), void *user)
{
    struct figures_job job = {guest, visit, user};

    return host_threads_look(host, run_figures, &job); /* from a callback too */
}

/* ---- calls ---- */

int rapahub_host_call(struct rapahub_host *host, const struct rapahub_call *call, void *result)
{
    return host_route_call(host, call, result);
}

int rapahub_host_loan(struct rapahub_host *host, struct rapahub_container_id target, size_t size,
                      struct rapahub_loan *out)
{
    int r = host_forked_check(host);

    return r < 0 ? r : host_loans_take(host, target, size, out);
}

void rapahub_host_drop_loan(struct rapahub_host *host, struct rapahub_loan *loan)
{
    if (host_forked_check(host) == 0)
        host_loans_drop(host, loan);
}

int rapahub_host_call_async(struct rapahub_host *host, const struct rapahub_call *call,
                            rapahub_on_done *on_done, void *user, struct rapahub_request_id *out)
{
    const struct host_async_call_order order = {call, on_done, user};
    struct host_async_begun begun;
    int r = host_async_call_begin(host, &order, &begun);

    if (r < 0)
        return r;
    if (out)
        out->number = begun.number;
    host_turn_expect(host, begun.deadline_ns);
    return 0;
}

int rapahub_host_cork(struct rapahub_host *host, struct rapahub_container_id target, bool corked)
{
    int r = host_forked_check(host);

    return r < 0 ? r : host_corks_set(host, target, corked);
}

void rapahub_host_cancel(struct rapahub_host *host, struct rapahub_request_id request)
{
    if (host_forked_check(host) == 0)
        host_asyncs_cancel(host, request.number);
}

/* ---- loop ---- */

int rapahub_host_fd(const struct rapahub_host *host)
{
    int r = host_forked_check(host);

    if (r < 0)
        return r;
    host_turn_show((struct rapahub_host *)(uintptr_t)host);
    return host->loop.epoll;
}

int rapahub_host_dispatch(struct rapahub_host *host, int timeout_ms)
{
    int r = host_caller_check(host);

    return r < 0 ? r : host_turn(host, timeout_ms);
}
