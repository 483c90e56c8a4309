/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/runner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/core/check.h"
#include "cluster/core/dispatch.h"
#include "cluster/node/identity/node_identity.h"
#include "cluster/node/map/map_values.h"
#include "cluster/node/node_peering.h"
#include "cluster/node/runner_effects.h"
#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define EVENTS_MAX 4096 /* that are told in one turn */
#define WAIT_MS    1000

/* What a turn can find readable. */
enum fd {
    FD_EVENTS,
    FD_STORE,
    FD_DISK,
    FD_STEPS,
    FD_SERVICES,
    FD_CLIENTS,
    FD_PEERS,
    FD_DETECTOR,
    FD_TIMER,
    FDS
};

/* ---- events ---- */

/* A time that has become later is left: a turn too many is cheaper than to set the timer for each
 * call. */
static int set_alarm(struct cluster_runner *runner, uint64_t next_ns)
{
    uint64_t at_ns = runner->timer_ns < next_ns ? runner->timer_ns : next_ns;
    struct itimerspec when = {{0, 0}, {0, 0}};

    if (runner->until_ns > hub_clock_now() && runner->until_ns < at_ns)
        at_ns = runner->until_ns;
    if (at_ns >= runner->armed_ns)
        return 0;
    runner->armed_ns = at_ns;
    when.it_value = hub_clock_timespec(at_ns > 0 ? at_ns : 1);
    return timerfd_settime(runner->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0
               ? rapahub_fail(-errno, "", "the timer of the node cannot be set")
               : 0;
}

/* The asker hears of a refusal, or the node whose frame it is. All other events are refused because
 * their thing has ended. */
static void refuse(struct cluster_runner *runner, const struct cluster_event *event, int status)
{
    if (event->kind == CLUSTER_EVENT_CALL)
        cluster_router_refused(runner->router, event->call, status);
    else if (event->kind == CLUSTER_EVENT_ORDER)
        cluster_services_refused(runner->services, event->order->number, status);
    else if (event->kind == CLUSTER_EVENT_ARRIVED)
        cluster_peering_refused(runner->peering, event);
    else
        rapahub_log(RAPAHUB_LOG_DEBUG, "node", "the core refuses an event of kind %u: %s",
                    event->kind, rapahub_last_error()->text);
}

/* The core has all that the metastore had, and may act. Other nodes hear of the session now, and no
 * sooner: a call that came before would find no pool. r[impl cluster.nodes.session] */
static int start(struct cluster_runner *runner)
{
    const struct cluster_event started = {.kind = CLUSTER_EVENT_STARTED,
                                          .session = runner->boot->session,
                                          .node = runner->leader.node,
                                          .term = runner->leader.term,
                                          .boot = runner->boot->folder.boot,
                                          .generation = runner->boot->generation};
    int status;

    runner->started = true;
    cluster_node_peering_lead(runner);
    cluster_peer_links_set_session(runner->peers, runner->boot->session);
    status = cluster_detector_begin(runner->detector);
    return status == 0 ? cluster_event_queue_add(runner->events, &started) : status;
}

/* Tells the core, and returns what it says; its effects are carried out either way. */
static int step(struct cluster_runner *runner, struct cluster_event *event)
{
    int status;

    event->now_ns = hub_clock_now();
    status = cluster_core_step(runner->core, event, runner->effects);
    if (status < 0)
        refuse(runner, event, status);
    cluster_runner_effects_carry_out(runner);
    return status;
}

/* r[impl cluster.session.back] r[impl cluster.leave.ends] */
static void look_at_node(struct cluster_runner *runner, const struct cluster_event *event)
{
    cluster_detector_node(runner->detector, event->node, event->session, event->node_record);
    if (event->node != runner->boot->folder.node)
        return;
    if (runner->started && event->session != runner->boot->session)
        runner->fenced = true;
    if (event->node_record)
        runner->state = event->node_record->state;
}

static int tell(struct cluster_runner *runner, const struct cluster_event *from)
{
    struct cluster_event event = *from;
    struct cluster_record record;
    int status = cluster_map_values_read(runner->pools, &event, &record);

    if (status < 0)
        return status;
    if (event.kind == CLUSTER_EVENT_CONTAINER)
        cluster_router_down(runner->router, event.pool, event.container);
    if (event.kind == CLUSTER_EVENT_NODE && event.status == 0)
        cluster_node_peering_know(runner, &event);
    if (event.kind == CLUSTER_EVENT_NODE)
        look_at_node(runner, &event);
    if (event.kind != CLUSTER_EVENT_NODE || runner->leader.node == 0) /* a node that leads */
        (void)step(runner, &event);
    if (event.kind == CLUSTER_EVENT_HOLDERS)
        cluster_copy_links_changed(runner->copies, event.pool, event.container, !event.holders);
    if (event.kind == CLUSTER_EVENT_POOL && !event.record)
        cluster_pool_records_remove(runner->pools, event.pool);
    return event.kind == CLUSTER_EVENT_READ && event.status == 0 && !runner->started ? start(runner)
                                                                                     : 0;
}

static int tell_all(struct cluster_runner *runner)
{
    const struct cluster_event *event;
    int status = 0;

    if (runner->busy)
        return 0;
    runner->busy = true;
    for (unsigned i = 0; status == 0 && i < EVENTS_MAX; i++) {
        event = cluster_event_queue_take(runner->events);
        if (!event)
            break;
        status = tell(runner, event);
        cluster_event_queue_done(runner->events);
    }
    while (status == 0 && runner->timer_ns <= hub_clock_now()) {
        runner->timer_ns = HUB_NEVER;
        status = tell(runner, &(struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    }
    runner->busy = false;
    return status;
}

/* In a callback of the host: an event of a call is told at once. A caller that takes turns of the
 * host alone, as its owner does, gets its answer so. The rest of the turn follows: see
 * cluster_runner_settle. */
static void tell_urgent(void *user)
{
    struct cluster_runner *runner = user;
    uint64_t before_ns = runner->timer_ns;
    int status = runner->failure == 0 ? tell_all(runner) : 0;

    runner->told = true;
    if (status == 0 && runner->timer_ns < before_ns)
        status = set_alarm(runner, HUB_NEVER);
    if (status < 0)
        runner->failure = status;
}

static const struct cluster_event_queue_hooks hooks = {tell_urgent};

/* In a callback of the disk, which a turn calls between two steps of the core. */
static int tell_now(void *user, const struct cluster_event *from)
{
    struct cluster_runner *runner = user;
    struct cluster_event event = *from;
    int status;

    CHECK(!runner->busy);
    if (!runner->effects)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the node ends");
    runner->busy = true;
    status = step(runner, &event);
    runner->busy = false;
    return status;
}

const struct cluster_container_rows_hooks cluster_runner_hooks = {tell_now};

/* ---- turns ---- */

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* The node that leads chooses who keeps copies. */
static void tell_verdicts(struct cluster_runner *runner)
{
    uint32_t node = 0;

    runner->known.verdicts = cluster_detector_changes(runner->detector);
    while (runner->leader.node == 0 &&
           (node = cluster_detector_after(runner->detector, node)) != 0) {
        struct cluster_event event = {.kind = CLUSTER_EVENT_VERDICT, .node = node};

        event.status = cluster_detector_is_away(runner->detector, node) ? RAPAHUB_EDIED : 0;
        if (cluster_event_queue_add(runner->events, &event) < 0)
            rapahub_clear_error(); /* the next change tells it, too */
    }
}

static uint64_t step_detector(struct cluster_runner *runner, uint64_t now_ns, bool readable)
{
    uint64_t next_ns = cluster_detector_step(
        runner->detector, now_ns, cluster_core_parts(runner->core)->catch_up.revision, readable);

    if (runner->known.verdicts != cluster_detector_changes(runner->detector))
        tell_verdicts(runner);
    return next_ns;
}

/* Says which of the descriptors are readable, a bit for each. */
static uint32_t look(struct cluster_runner *runner)
{
    struct epoll_event events[FDS];
    int count = epoll_wait(runner->epoll, events, FDS, 0);
    uint32_t readable = 0;

    for (int i = 0; i < count; i++)
        readable |= 1u << events[i].data.u32;
    return readable;
}

static bool has(uint32_t readable, enum fd fd)
{
    return (readable & 1u << fd) != 0;
}

/* The seat answers what the step of the metastore has ended. */
static uint64_t step_seat(struct cluster_runner *runner, uint32_t readable, uint64_t now_ns)
{
    if (!runner->seat)
        return HUB_NEVER;
    if (has(readable, FD_PEERS) || now_ns >= runner->peers_ns)
        runner->peers_ns = cluster_peer_links_step(runner->peers, now_ns);
    return least(runner->peers_ns, cluster_seat_service_step(runner->seat, now_ns));
}

static int step_parts(struct cluster_runner *runner, uint32_t readable, uint64_t *next_ns)
{
    uint64_t now_ns = hub_clock_now(), marker_ns = HUB_NEVER;
    int status = 0;

    if (has(readable, FD_STORE) || now_ns >= runner->store_ns)
        status = cluster_metastore_step(runner->boot->store, now_ns, &runner->store_ns);
    if (status < 0)
        return status;
    cluster_marker_step(runner->boot->marker, now_ns, &marker_ns);
    if (has(readable, FD_DISK))
        status = cluster_store_thread_step(runner->disk);
    if (status == 0 && runner->started && has(readable, FD_CLIENTS)) /* no pool is known before */
        status = cluster_client_router_dispatch(runner->clients);
    *next_ns = least(runner->store_ns, marker_ns);
    *next_ns = least(*next_ns, step_seat(runner, readable, now_ns));
    *next_ns = least(*next_ns, step_detector(runner, now_ns, has(readable, FD_DETECTOR)));
    *next_ns = least(*next_ns, cluster_router_step(runner->router, now_ns));
    *next_ns = least(*next_ns,
                     cluster_container_steps_step(runner->steps, now_ns, has(readable, FD_STEPS)));
    *next_ns = least(*next_ns,
                     cluster_services_step(runner->services, now_ns, has(readable, FD_SERVICES)));
    return status;
}

static void hear_timer(struct cluster_runner *runner)
{
    uint64_t count;

    if (read(runner->timer, &count, sizeof count) < 0) {
        /* it was set anew since */
    }
    runner->armed_ns = HUB_NEVER;
}

/* Events that come meanwhile are told in this turn. */
static int do_all(struct cluster_runner *runner, uint32_t readable, uint64_t *next_ns)
{
    int status;

    if (has(readable, FD_TIMER))
        hear_timer(runner);
    cluster_event_queue_hold(runner->events, true);
    status = step_parts(runner, readable, next_ns);
    if (status == 0)
        status = tell_all(runner);
    cluster_event_queue_hold(runner->events, false);
    return status;
}

/* Once more after the events, for their effects may have begun what these go on with. */
static uint64_t step_begun(struct cluster_runner *runner)
{
    uint64_t now_ns = hub_clock_now();
    uint64_t next_ns = least(cluster_container_steps_step(runner->steps, now_ns, false),
                             cluster_router_step(runner->router, now_ns));

    next_ns = least(next_ns, cluster_blob_fetches_step(runner->modules, now_ns));
    if (runner->started) /* other nodes know the session */
        next_ns = least(next_ns, cluster_renewals_step(runner->renewals, now_ns));
    next_ns = least(next_ns, cluster_copy_links_step(runner->copies, now_ns));
    next_ns = least(next_ns, step_detector(runner, now_ns, false));
    return least(next_ns, cluster_services_step(runner->services, now_ns, false));
}

/* Links of a certificate that was revoked end in the turn that notes it. */
static void follow_identity(struct cluster_runner *runner)
{
    uint64_t changes = cluster_node_identity_changes(runner->identity);

    if (changes == runner->known.identity)
        return;
    runner->known.identity = changes;
    cluster_client_router_look_at_certificates(runner->clients);
    cluster_peer_links_look_at_certificates(runner->peers);
    cluster_detector_renew_key(runner->detector);
}

static int take_turn(struct cluster_runner *runner, uint32_t readable)
{
    uint64_t next_ns = HUB_NEVER;
    int status;

    runner->told = false;
    status = do_all(runner, readable, &next_ns);
    if (status < 0)
        return status;
    next_ns = least(next_ns, step_begun(runner));
    next_ns = least(next_ns, cluster_leading_step(&runner->leading, hub_clock_now()));
    status = cluster_node_peering_follow(runner);
    if (status < 0)
        return status;
    follow_identity(runner);
    cluster_node_peering_hold(runner);
    if (runner->fenced || cluster_peer_links_is_fenced(runner->peers))
        return rapahub_fail(
            RAPAHUB_EFENCED, "cluster.session.back",
            "the session of this node is over: the cluster holds the node for dead, and its "
            "containers may be elsewhere; it ends all that it has, and begins anew");
    if (cluster_event_queue_has_lost(runner->events))
        return rapahub_fail(RAPAHUB_ENOMEM, "cluster.node.lost",
                            "there was no memory for what the node has to note: it ends, and "
                            "begins anew");
    if (runner->failure < 0 || runner->watch.lost)
        return rapahub_fail(RAPAHUB_EIO, "", "the node does not follow its metastore any more");
    if (runner->watch.wants_snapshot)
        cluster_runner_effects_snapshot(runner);
    return set_alarm(runner, next_ns);
}

int cluster_runner_turn(struct cluster_runner *runner)
{
    return take_turn(runner, look(runner));
}

int cluster_runner_settle(struct cluster_runner *runner)
{
    return runner->told ? take_turn(runner, 0) : 0;
}

static int gather(const struct cluster_runner *runner)
{
    const int fds[FDS] = {[FD_EVENTS] = cluster_event_queue_fd(runner->events),
                          [FD_STORE] = cluster_metastore_fd(runner->boot->store),
                          [FD_DISK] = cluster_store_thread_fd(runner->disk),
                          [FD_STEPS] = cluster_container_steps_fd(runner->steps),
                          [FD_SERVICES] = cluster_services_fd(runner->services),
                          [FD_CLIENTS] = cluster_client_router_fd(runner->clients),
                          [FD_PEERS] = runner->seat ? cluster_peer_links_fd(runner->peers) : -1,
                          [FD_DETECTOR] = cluster_detector_fd(runner->detector),
                          [FD_TIMER] = runner->timer};

    for (uint32_t i = 0; i < FDS; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

        if (fds[i] >= 0 && epoll_ctl(runner->epoll, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return rapahub_fail(-errno, "", "the descriptors of the node cannot be gathered");
    }
    return 0;
}

static int open_descriptors(struct cluster_runner *runner)
{
    runner->timer_ns = runner->armed_ns = HUB_NEVER;
    runner->epoll = epoll_create1(EPOLL_CLOEXEC);
    runner->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    runner->effects = calloc(1, sizeof *runner->effects);
    if (runner->epoll < 0 || runner->timer < 0)
        return rapahub_fail(RAPAHUB_EMFILE, "", "no descriptor for the node");
    if (!runner->effects)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the node");
    cluster_event_queue_set(runner->events, &hooks, runner);
    return gather(runner);
}

/* Each node hears of it, whichever has taken the order. r[impl cluster.identity.revoked] */
static void on_revoked(void *user, struct rapahub_string text)
{
    struct cluster_runner *runner = user;
    struct cluster_revocation_serial serial;
    int status = cluster_revocation_parse(text, &serial);

    if (status == 0)
        status = cluster_node_identity_revoke(runner->identity, &serial);
    if (status < 0)
        rapahub_log(RAPAHUB_LOG_ERROR, "node", "a certificate that was revoked is not known: %s",
                    rapahub_last_error()->text);
}

static void on_lead(void *user, const struct cluster_pair *pair)
{
    struct cluster_runner *runner = user;

    cluster_leading_take(&runner->leading, pair);
}

static const struct cluster_map_watch_hooks watch_hooks = {on_revoked, on_lead};

/* A call that came before would find no pool. */
static int wait_for_map(struct cluster_runner *runner, uint64_t deadline_ns)
{
    int status = cluster_runner_turn(runner);

    while (status == 0 && !runner->started) {
        struct epoll_event event;

        if (hub_clock_left(deadline_ns) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the metastore does not answer");
        if (epoll_wait(runner->epoll, &event, 1, hub_clock_left_ms(deadline_ns, WAIT_MS)) < 0 &&
            errno != EINTR)
            return rapahub_fail(-errno, "", "the descriptors of the node cannot be polled");
        status = cluster_runner_turn(runner);
    }
    return status;
}

int cluster_runner_begin(struct cluster_runner *runner, uint64_t timeout_ns)
{
    const struct cluster_event tick = {.kind = CLUSTER_EVENT_TICK};
    int status = open_descriptors(runner);

    if (status == 0)
        status = cluster_event_queue_add(runner->events, &tick);
    if (status < 0)
        return status;
    runner->hooks = &cluster_runner_hooks;
    cluster_map_nodes_init(&runner->nodes, runner->events);
    cluster_map_reading_init(&runner->reading, runner->boot->store, runner->events, &runner->nodes,
                             runner->leader.node == 0);
    cluster_map_watch_init(&runner->watch, runner->boot->store, runner->disk, runner->events);
    runner->watch.nodes = &runner->nodes;
    runner->watch.hooks = &watch_hooks;
    runner->watch.user = runner;
    status = cluster_map_watch_begin(&runner->watch, runner->boot->revision, runner->boot->last);
    return status == 0 ? wait_for_map(runner, hub_clock_after(timeout_ns)) : status;
}

/* It does no harm any more, but in the next node it would. */
static void check_core(const struct cluster_runner *runner)
{
    const char *broken =
        runner->started ? cluster_check_core(cluster_core_parts(runner->core)) : NULL;

    if (broken)
        rapahub_log(RAPAHUB_LOG_ERROR, "node",
                    "the core of the node contradicted itself at its end: %s: report that", broken);
}

void cluster_runner_end(struct cluster_runner *runner)
{
    check_core(runner);
    cluster_map_nodes_fini(&runner->nodes);
    if (runner->events)
        cluster_event_queue_set(runner->events, NULL, NULL);
    hub_fd_release(&runner->epoll);
    hub_fd_release(&runner->timer);
    free(runner->effects);
    runner->effects = NULL;
}
