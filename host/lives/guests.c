/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/guests.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/guest/guest_table.h"
#include "host/guest/progress.h"
#include "host/guest/supervision.h"
#include "host/guest/watch.h"
#include "host/lives/after_exit.h"
#include "host/lives/launch.h"
#include "host/lives/printed.h"
#include "host/lives/startup.h"
#include "host/observe/observe.h"
#include "host/observe/report.h"
#include "host/owner/wait.h"
#include "host/supervise/lint.h"
#include "hub/base/clock.h"
#include "hub/shm/doorbell.h"

#define PROOF_WITHIN    (5 * HUB_SECOND)        /* from SIGKILL to the report as stuck */
#define VIOLATED_GRACE  (100 * HUB_MILLISECOND) /* for a trusted guest to log the reason */
#define FULL_AGAIN      (10 * HUB_MILLISECOND)  /* an entry comes back when its last user goes */
#define STOP_ALL_WITHIN (10 * HUB_SECOND)       /* for the end of the host */
#define DRAIN_AGAIN     (2 * HUB_MILLISECOND)   /* while calls are open in a guest that stops */
#define PAUSED          HUB_SECOND /* a timer this late shows that the host stood still */

/* ---- time-outs ---- */

/* Nothing is returned before the proof of death, which may still come, but no caller waits for it.
 * r[impl hub.death.stuck] */
static void tell_stuck(const struct host_guest *guest)
{
    rapahub_log(RAPAHUB_LOG_ERROR, "guests", "%s: pid %d is killed and does not die", guest->name,
                (int)guest->life->process.pid);
    hub_link_close(guest->life->connection.link, RAPAHUB_EDIED, "hub.death.stuck");
}

static void kill_for(struct host_guest *guest, enum host_cause cause)
{
    if (guest->life->death.killed)
        tell_stuck(guest);
    host_life_kill(guest->life, cause);
    guest->life->death.killed = true;
    host_supervision_leaving(guest, "time-out");
    host_loop_set(&guest->host->owner.loop, &guest->timer, hub_clock_after(PROOF_WITHIN));
}

/* Is a call open in the guest, or is a thread about to send one whose route it has found? */
static bool is_in_use(struct host_guest *guest)
{
    return hub_calls_open(guest->life->connection.calls) > 0 ||
           host_caller_inside_life(&guest->host->owner.registry.callers, guest->life) > 0;
}

/* If calls are open and their time is not over, the timer comes again in a moment. */
static bool still_drains(struct host_guest *guest)
{
    uint64_t again = hub_clock_after(DRAIN_AGAIN);

    if (guest->stop.drain_ns == 0 || guest->life->death.killed ||
        hub_clock_left(guest->stop.drain_ns) == 0 || !is_in_use(guest))
        return false;
    host_loop_set(&guest->host->owner.loop, &guest->timer,
                  again < guest->stop.drain_ns ? again : guest->stop.drain_ns);
    return true;
}

/* r[impl shm.goodbye.host] */
static void say_goodbye(struct host_life *life)
{
    hub_publish(&life->goodbye.leaving, 1);
    hub_link_say_goodbye(life->connection.link, "", "stop");
    if (!life->segment.group->shared)
        hub_publish(&life->segment.view.header->host_goodbye, 1);
    hub_link_alert(life->connection.link);
    if (life->doorbell.fd >= 0)
        hub_doorbell_ring(life->doorbell.fd);
}

/* Says goodbye, once, when the open calls have ended or their time is over.
 * r[impl supervise.stop.drain] */
static bool send_goodbye(struct host_guest *guest)
{
    uint64_t goodbye = guest->supervision.goodbye_ns;

    if (guest->stop.drain_ns == 0)
        return false;
    guest->stop.drain_ns = 0;
    say_goodbye(guest->life);
    if (guest->life->death.killed)
        return false;
    host_loop_set(&guest->host->owner.loop, &guest->timer,
                  hub_clock_after(goodbye == RAPAHUB_NONE ? 0 : goodbye));
    return true;
}

/* A guest that was asked to leave, and has not, gets SIGTERM, which needs no turn of its serving
 * loop. r[impl supervise.stop] */
static bool send_term(struct host_guest *guest)
{
    uint64_t term = guest->supervision.term_ns;

    if (!guest->stop.told || guest->stop.termed || guest->life->death.killed ||
        term == RAPAHUB_NONE)
        return false;
    guest->stop.termed = true;
    host_life_signal(guest->life, SIGTERM);
    host_loop_set(&guest->host->owner.loop, &guest->timer, hub_clock_after(term));
    return true;
}

/* If the host itself stood still, or a debugger is attached, the start gets its time anew.
 * r[impl supervise.watchdog.pause] */
static void on_time(void *user)
{
    struct host_guest *guest = user;
    bool paused = hub_clock_now() > guest->timer.due_ns + PAUSED;

    if (!guest->life)
        return;
    if (guest->state == HOST_GUEST_STOPPING) {
        if (still_drains(guest))
            return;
        if (!send_goodbye(guest) && !send_term(guest))
            kill_for(guest, HOST_CAUSE_STOP_TIMEOUT);
    } else if (paused || host_watch_is_traced(guest->life))
        host_loop_set(&guest->host->owner.loop, &guest->timer,
                      hub_clock_after(guest->supervision.start_timeout_ns));
    else
        kill_for(guest, HOST_CAUSE_START_TIMEOUT);
}

/* ---- start ---- */

static void start_failed(struct host_guest *guest, int code)
{
    const struct host_end end = {
        .class = RAPAHUB_EXIT_SPAWN, .cause = guest->failure.verdict.text, .rule = ""};

    host_verdict_take(&guest->failure.verdict, code);
    rapahub_log(RAPAHUB_LOG_WARN, "guests", "%s: %s", guest->name, guest->failure.verdict.text);
    host_report_ended(guest, NULL, &end);
    host_after_exit(guest, &end);
}

/* The entry of the last life is still used by a call that returns in a moment. */
static void wait_for_entry(struct host_guest *guest)
{
    guest->totals.restarts -= guest->totals.lives > 0;
    host_supervision_deferred(guest, hub_clock_after(FULL_AGAIN));
}

/* While the guest was down, another one may have got the name that it gave itself.
 * r[impl sec.name.own] */
static void keep_name(struct host_guest *guest)
{
    if (guest->named != HOST_GUEST_NAMED_BY_ITSELF)
        return;
    host_routes_write(&guest->host->owner.registry.routes);
    host_guest_table_name(guest);
    host_routes_unlock(&guest->host->owner.registry.routes);
}

void host_guests_start(struct host_guest *guest)
{
    struct host_observe *host = HOST_OBSERVE(guest->host);
    struct host_life *life;
    int r;

    guest->timer.on = on_time;
    guest->timer.user = guest;
    guest->failure.verdict.code = 0;
    guest->child.asked = false;
    guest->stop = (struct host_guest_stop){0};
    if (guest->totals.lives > 0)
        guest->totals.restarts++;
    keep_name(guest);
    r = host_launch(guest, &life);
    if (r == RAPAHUB_EFULL && !hub_list_empty(&HOST_PROCESS(host)->ended)) {
        wait_for_entry(guest);
        return;
    }
    guest->totals.lives++;
    if (r < 0) {
        start_failed(guest, r);
        return;
    }
    host_printed_begin(life);
    host_guests_begin(life);
    host_watch_begin(&host->supervision);
}

void host_guests_begin(struct host_life *life)
{
    struct host_guest *guest = life->guest;
    struct host_observe *host = HOST_OBSERVE(guest->host);

    guest->timer.on = on_time;
    guest->timer.user = guest;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    guest->life = life;
    guest->id = life->id;
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    hub_list_append(&HOST_PROCESS(host)->lives, &life->link);
    host_loop_set(&HOST_OWNER(host)->loop, &guest->timer,
                  hub_clock_after(guest->supervision.start_timeout_ns));
}

void host_guests_attached(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    if (life->segment.peer_state == HUB_PEER_RESERVED) {
        host_watch_look(life);
        return;
    }
    if (guest->state != HOST_GUEST_STARTING || guest->life != life)
        return;
    host_supervision_attached(guest);
    if (guest->supervision.ready == RAPAHUB_READY_ATTACH && guest->state == HOST_GUEST_ATTACHED)
        host_startup_attached(life);
}

/* The relations of the life are swapped in by one store. r[impl supervise.role.again] */
void host_guests_open(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    host_routes_write(&guest->host->owner.registry.routes);
    guest->linked = life->incarnation;
    HUB_LIST_EACH (&guest->containers, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (container->state == HOST_CONTAINER_STARTING)
            host_containers_move(container, host_containers_open(container), "its guest is ready");
    }
    host_routes_unlock(&guest->host->owner.registry.routes);
    host_routes_announce(&guest->host->owner.registry.routes);
    host_startup_open_roles(life);
}

void host_guests_ready(struct host_life *life)
{
    struct host_guest *guest = life->guest;
    struct rapahub_event event = {.kind = guest->anonymous ? RAPAHUB_EVENT_ATTACHED
                                                           : RAPAHUB_EVENT_READY};

    host_loop_clear(&guest->timer);
    guest->child.initial = false;
    life->ready_ns = hub_clock_now();
    host_guests_open(life);
    host_supervision_ready(guest);
    host_progress_begin(life);
    host_after_exit_tell(guest, &event);
    rapahub_log(RAPAHUB_LOG_INFO, "guests", "%s: ready in %" PRIu64 " us, pid %d, epoch %u",
                guest->name, (life->ready_ns - life->born_ns) / HUB_MICROSECOND,
                (int)life->process.pid, life->id.epoch);
}

/* ---- end ---- */

static bool is_present(const struct host_life *life)
{
    return life->guest && life->guest->life == life && life->death.proven_ns == 0;
}

void host_guests_end(struct host_life *life, enum host_cause cause, const char *why)
{
    struct host_guest *guest = life->guest;

    if (!is_present(life) || life->death.killed)
        return;
    host_life_kill(life, cause);
    life->death.killed = true;
    host_supervision_leaving(guest, why);
    host_loop_set(&guest->host->owner.loop, &guest->timer, hub_clock_after(PROOF_WITHIN));
}

/* An anonymous guest gets no signal: its program may do anything with one that it can handle.
 * r[impl supervise.watchdog] */
void host_guests_abort(struct host_life *life, enum host_cause cause)
{
    struct host_guest *guest = life->guest;
    const struct rapahub_supervision *how = &guest->supervision;

    if (guest->anonymous || how->abort_ns == RAPAHUB_NONE) {
        host_guests_end(life, cause, "it is stuck");
        return;
    }
    if (!is_present(life) || life->death.killed)
        return;
    hub_claim(&life->exit.cause, HOST_CAUSE_NONE, (uint32_t)cause);
    host_life_signal(life, how->watchdog_signal);
    host_supervision_leaving(guest, "it is stuck");
    host_loop_set(&guest->host->owner.loop, &guest->timer, hub_clock_after(how->abort_ns));
}

void host_guests_leaving(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    hub_publish(&life->goodbye.leaving, 1);
    if (!is_present(life) || guest->state == HOST_GUEST_STOPPING)
        return;
    host_supervision_leaving(guest, "it said goodbye");
    host_loop_set(&guest->host->owner.loop, &guest->timer,
                  hub_clock_after(host_lint_stop_ns(&guest->supervision)));
}

/* r[impl hub.violation] */
void host_guests_blame(struct host_life *life)
{
    struct host_guest *guest = life->guest;
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_VIOLATION,
                                  .guest = life->id,
                                  .cause = "it broke a rule of the protocol",
                                  .rule = hub_link_rule(life->connection.link)};

    if (!guest || life->blamed || !hub_link_broken(life->connection.link))
        return;
    life->blamed = true;
    hub_claim(&life->exit.cause, HOST_CAUSE_NONE, HOST_CAUSE_PROTOCOL);
    guest->totals.violations++;
    host_figures_blame(&guest->totals.figures, event.rule);
    event.name = guest->name;
    host_events_post(&guest->host->owner, &event);
    rapahub_log(RAPAHUB_LOG_ERROR, "guests", "%s: broke %s%s", guest->name,
                event.rule[0] ? event.rule : "the protocol",
                life->death.proven_ns == 0 ? ", and is killed" : "");
}

void host_guests_violated(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    host_guests_blame(life);
    if (!is_present(life) || life->death.killed)
        return;
    host_supervision_leaving(guest, "it broke a rule");
    if (!life->segment.trusted) {
        host_life_kill(life, HOST_CAUSE_PROTOCOL);
        life->death.killed = true;
    }
    host_loop_set(&guest->host->owner.loop, &guest->timer,
                  hub_clock_after(life->segment.trusted ? VIOLATED_GRACE : PROOF_WITHIN));
}

static void part(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    host_loop_clear(&guest->timer);
    guest->totals.calls += hub_calls_answered(life->connection.calls);
    host_figures_add(&guest->totals.figures, &life->connection);
    /* In this order: a thread that finds the guest ready also finds a life. */
    if (guest->child.node == HOST_TREE_NONE)
        host_guest_move(guest, HOST_GUEST_EXITED, "proven dead");
    else
        host_guest_show(guest, HOST_GUEST_EXITED, false);
    host_routes_write(&guest->host->owner.registry.routes);
    guest->life = NULL;
    host_routes_unlock(&guest->host->owner.registry.routes);
}

/* There is no event for a guest that was asked to leave, or said so, and then exited in order.
 * r[impl shm.death.callback] r[impl shm.death.recovery] */
static void tell_death(const struct host_life *life, const struct host_end *end)
{
    const struct host_guest *guest = life->guest;
    const struct rapahub_event event = {
        .guest = life->id, .name = "", .cause = end->cause, .rule = ""};

    if (end->class != RAPAHUB_EXIT_CLEAN || hub_observe(&life->goodbye.leaving) == 0)
        host_events_post_death(&guest->host->owner, guest->on_death, guest->on_death_user, &event);
}

void host_guests_ended(struct host_life *life)
{
    struct host_guest *guest = life->guest;
    const char *rule = hub_link_rule(life->connection.link);
    char cause[256];
    struct host_end end = {.cause = cause,
                           .rule = rule,
                           .exit = hub_observe(&life->exit.known) ? &life->exit.how : NULL,
                           .uptime_ns = life->death.proven_ns - life->born_ns,
                           .calls_lost = life->death.calls_lost};

    end.class = host_life_ended(life, cause, sizeof cause);
    if (life->ready_ns == 0)
        host_startup_explain(life, &end);
    host_report_ended(guest, life, &end);
    part(life);
    tell_death(life, &end);
    host_after_exit(guest, &end);
}

/* ---- stop ---- */

/* r[impl supervise.stop] */
void host_guests_ask(struct host_guest *guest)
{
    struct host_life *life = guest->life;

    if (!life || guest->stop.told)
        return;
    guest->stop.told = true;
    host_supervision_leaving(guest, "as asked");
    if (guest->supervision.brutal) {
        hub_publish(&life->goodbye.leaving, 1);
        host_guests_end(life, HOST_CAUSE_NONE, "as asked");
        return;
    }
    guest->stop.drain_ns = hub_clock_after(guest->supervision.drain_ns);
    if (!still_drains(guest))
        (void)send_goodbye(guest);
}

/* The pin keeps the guest's entry of the guest table meanwhile. */
static int wait_stopped(struct host_guest *guest, uint64_t deadline)
{
    int r = 0;

    guest->pins++;
    while (r >= 0 && host_guest_table_is_used(guest)) {
        r = host_wait_until(&guest->host->owner, deadline);
        if (r >= 0 && host_guest_table_is_used(guest) && hub_clock_left(deadline) == 0)
            r = rapahub_fail(RAPAHUB_ETIMEDOUT, "hub.death.stuck", "%s does not die", guest->name);
    }
    guest->pins--;
    return r < 0 ? r : 0;
}

uint64_t host_guests_stop(struct host_guest *guest)
{
    uint64_t finish = guest->finish ? guest->supervision.finish_timeout_ns : 0;

    host_supervision_end(guest);
    return hub_clock_after(host_lint_stop_ns(&guest->supervision) + finish + 2 * PROOF_WITHIN);
}

/* Guests that are just attaching are told, too. r[impl shm.goodbye.host]
 * r[impl shm.goodbye.host-atomic] */
static void leave_shared(struct host_observe *host)
{
    struct hub_segment_view view;

    if (!HOST_PROCESS(host)->shared)
        return;
    hub_segment_view(HOST_PROCESS(host)->shared->segment, 1, &view);
    hub_publish(&view.header->host_goodbye, 1);
    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link)
        hub_link_alert(HUB_LIST_ITEM(link, struct host_life, link)->connection.link);
}

/* r[impl supervise.stop.deadline] */
void host_guests_stop_all(struct host_observe *host)
{
    uint64_t most = hub_clock_after(STOP_ALL_WITHIN);

    host_supervision_stop_all(&host->supervision, most);
    leave_shared(host);
    most += 2 * PROOF_WITHIN;
    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++)
        if (HOST_REGISTRY(host)->guests[i] &&
            wait_stopped(HOST_REGISTRY(host)->guests[i], most) < 0)
            rapahub_log(RAPAHUB_LOG_ERROR, "guests", "%s", rapahub_last_error()->text);
}

void host_guests_free_all(struct host_observe *host)
{
    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++)
        if (HOST_REGISTRY(host)->guests[i] && !HOST_REGISTRY(host)->guests[i]->life)
            host_guest_table_forget(&host->supervision, i);
}
