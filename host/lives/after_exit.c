/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/after_exit.h"

#include <inttypes.h>
#include <stdio.h>

#include "host/guest/exit_command.h"
#include "host/guest/guest_table.h"
#include "host/guest/supervision.h"
#include "host/observe/observe.h"
#include "host/observe/report.h"
#include "host/owner/events.h"
#include "host/process/fd_store.h"
#include "host/registry/containers.h"
#include "host/roles/links.h"
#include "hub/base/clock.h"

void host_after_exit_tell(const struct host_guest *guest, struct rapahub_event *event)
{
    event->guest = guest->id;
    event->name = guest->name;
    event->cause = event->cause ? event->cause : "";
    event->rule = event->rule ? event->rule : "";
    host_events_post(&guest->host->owner, event);
}

/* Moves the containers of a guest that is dead, or that is over for good. */
static void move_containers(struct host_guest *guest, enum host_container_state to, const char *why)
{
    struct host_observe *host = HOST_OBSERVE(guest->host);

    host_routes_write(&HOST_REGISTRY(host)->routes);
    HUB_LIST_EACH (&guest->containers, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (container->state != (uint32_t)to)
            host_containers_move(container, to, why);
    }
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
}

static void tell_down(const struct host_guest *guest, const struct host_end *end)
{
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_DOWN,
                                  .cause = end->cause,
                                  .rule = end->rule,
                                  .calls_lost = end->calls_lost,
                                  .uptime_ns = end->uptime_ns};

    bool expected = guest->child.asked || (guest->admitted && end->class == RAPAHUB_EXIT_CLEAN);

    host_after_exit_tell(guest, &event);
    rapahub_log(expected ? RAPAHUB_LOG_INFO : RAPAHUB_LOG_WARN, "guests",
                "%s: ended: %s after %" PRIu64 ".%" PRIu64 " s, %u calls lost", guest->name,
                end->cause, end->uptime_ns / HUB_SECOND, end->uptime_ns % HUB_SECOND / 100000000,
                end->calls_lost);
}

static const struct host_child *child_of(const struct host_guest *guest)
{
    return host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);
}

/* The numbers are told only if the restarts are used up. r[impl supervise.failed.told] */
static void tell_failed(const struct host_guest *guest, enum host_failed why)
{
    uint32_t max = why == HOST_FAILED_BUDGET ? child_of(guest)->budget.max : 0;
    char cause[sizeof guest->ends.cause + 64];
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_FAILED,
                                  .cause = cause,
                                  .rule = guest->ends.rule,
                                  .restarts = max,
                                  .restarts_max = max};

    snprintf(cause, sizeof cause, "%s%s", guest->ends.cause, host_tree_reason(why));
    host_after_exit_tell(guest, &event);
    rapahub_log(RAPAHUB_LOG_ERROR, "guests", "%s: not started again: %s", guest->name,
                why == HOST_FAILED_BUDGET ? "its budget of restarts is used up" : cause);
}

static void tell_over(const struct host_guest *guest)
{
    struct rapahub_event event = {
        .kind = RAPAHUB_EVENT_FAILED, .cause = guest->ends.cause, .rule = guest->ends.rule};

    host_after_exit_tell(guest, &event);
    rapahub_log(RAPAHUB_LOG_INFO, "guests", "%s: not started again: as asked", guest->name);
}

/* Tells what the readiness probe alone has changed: the life stays. r[impl supervise.probe.told] */
static void tell_probe(struct host_guest *guest, const struct host_decision *decision)
{
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_DEGRADED,
                                  .cause = "its readiness probe fails"};

    if (decision->to == HOST_CHILD_READY && guest->upgrade)
        return; /* another life, whose READY was told */
    if (decision->to == HOST_CHILD_READY)
        event = (struct rapahub_event){.kind = RAPAHUB_EVENT_RESTORED};
    host_after_exit_tell(guest, &event);
}

static void tell_restart(struct host_guest *guest, uint64_t due_ns)
{
    uint64_t now = hub_clock_now();
    const struct host_budget *budget = &child_of(guest)->budget;
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_RESTART,
                                  .cause = guest->ends.cause,
                                  .rule = guest->ends.rule,
                                  .due_ns = due_ns > now ? due_ns - now : 0,
                                  .restarts = host_budget_used(budget, now),
                                  .restarts_max = budget->max};

    host_after_exit_tell(guest, &event);
}

/* An anonymous guest is not restarted: it comes again by itself. The end of one that never served
 * is only logged, as its start was not told. */
static void end_anonymous(struct host_guest *guest, const struct host_end *end)
{
    move_containers(guest, HOST_CONTAINER_GONE, "its guest is over");
    if (guest->child.initial)
        rapahub_log(RAPAHUB_LOG_WARN, "guests", "%s: ended before it served: %s", guest->name,
                    end->cause);
    else
        tell_down(guest, end);
    host_guest_move(guest, HOST_GUEST_CLOSED, "it is over");
    host_guest_table_forget_containers(guest);
}

void host_after_exit(struct host_guest *guest, const struct host_end *end)
{
    const struct host_ending ending = {.class = end->class, .exit = end->exit};

    snprintf(guest->ends.cause, sizeof guest->ends.cause, "%s", end->cause);
    guest->ends.rule = end->rule;
    if (guest->child.node == HOST_TREE_NONE) {
        end_anonymous(guest, end);
        return;
    }
    if (!guest->child.initial) {
        move_containers(guest, HOST_CONTAINER_DOWN, "its guest ended");
        tell_down(guest, end);
    }
    if (!host_exit_command_begin(guest, end))
        host_supervision_exited(guest, &ending);
}

/* The state that others see tells why a child is CLOSED. */
static enum host_guest_state closed_view(const struct host_guest *guest, bool over)
{
    if (guest->child.initial)
        return HOST_GUEST_CLOSED;
    return over ? HOST_GUEST_FAILED : HOST_GUEST_STOPPED;
}

static void show(struct host_guest *guest, const struct host_decision *decision)
{
    enum host_guest_state state = (enum host_guest_state)decision->to;

    if (decision->to == HOST_CHILD_CLOSED)
        state = closed_view(guest, decision->over);
    else if (decision->to == HOST_CHILD_STOPPED && decision->over)
        state = HOST_GUEST_FAILED;
    host_guest_show(guest, state, decision->over);
}

static void set_due(struct host_guest *guest, uint64_t due_ns)
{
    host_routes_write(&guest->host->owner.registry.routes);
    guest->child.due_ns = due_ns;
    host_routes_unlock(&guest->host->owner.registry.routes);
}

/* A guest that stopped only with its supervisor keeps its stored descriptors: it comes back with
 * the supervisor, or is closed. r[impl supervise.keep.end] */
static void drop_kept(struct host_guest *guest, const struct host_decision *decision)
{
    const struct host_child *child = child_of(guest);

    if (decision->to != HOST_CHILD_STOPPED || child->held || child->over)
        host_fd_store_drop(guest->keep);
}

/* r[impl supervise.role.gone] */
static void end_roles(const struct host_guest *guest)
{
    HUB_LIST_EACH (&guest->containers, link)
        host_links_end(HUB_LIST_ITEM(link, struct host_container, of_guest));
}

/* The containers are kept for any later start. While the guest is down, only their ids are free. */
void host_after_exit_moved(struct host_guest *guest, const struct host_decision *decision)
{
    bool ended =
        decision->from == HOST_CHILD_EXITED && !guest->child.initial && !guest->child.deferred;

    if (decision->to == HOST_CHILD_BACKOFF)
        set_due(guest, decision->due_ns);
    host_report_decided(guest, decision);
    show(guest, decision);
    if (decision->to == HOST_CHILD_STOPPED || decision->to == HOST_CHILD_FAILED ||
        decision->to == HOST_CHILD_CLOSED) {
        move_containers(guest, HOST_CONTAINER_GONE, "its guest is over");
        end_roles(guest);
        drop_kept(guest, decision);
    }
    if (decision->to == HOST_CHILD_FAILED)
        tell_failed(guest, decision->why);
    else if (ended && decision->over)
        tell_over(guest);
    else if (ended && decision->to == HOST_CHILD_BACKOFF)
        tell_restart(guest, decision->due_ns);
    else if (decision->to == HOST_CHILD_DEGRADED ||
             (decision->from == HOST_CHILD_DEGRADED && decision->to == HOST_CHILD_READY))
        tell_probe(guest, decision);
    if (decision->to == HOST_CHILD_BACKOFF)
        guest->child.deferred = false;
}
