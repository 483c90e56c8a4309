/* SPDX-License-Identifier: Apache-2.0 */
#include "host/decide.h"

#include <inttypes.h>
#include <stdio.h>

#include "host/containers.h"
#include "host/events.h"
#include "host/host.h"
#include "host/places.h"
#include "host/supervise/exits.h"
#include "hub/base/clock.h"

void host_decide_tell(const struct host_guest *guest, struct rapahub_event *event)
{
    event->guest = guest->id;
    event->name = guest->name;
    event->cause = event->cause ? event->cause : "";
    event->rule = event->rule ? event->rule : "";
    host_events_post(guest->host, event);
}

/* The containers of a guest that is dead, or that is over for good. */
static void move_containers(struct host_guest *guest, enum host_container_state to, const char *why)
{
    struct rapahub_host *host = guest->host;

    host_write_lock(host);
    HUB_LIST_EACH (&guest->containers, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (container->state != (uint32_t)to)
            host_containers_move(container, to, why);
    }
    host_unlock(host);
}

static void tell_down(const struct host_guest *guest, const struct host_end *end)
{
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_DOWN,
                                  .cause = end->cause,
                                  .rule = end->rule,
                                  .calls_lost = end->calls_lost,
                                  .uptime_ns = end->uptime_ns};

    host_decide_tell(guest, &event);
    rapahub_log(guest->asked ? RAPAHUB_LOG_INFO : RAPAHUB_LOG_WARN, "guests",
                "%s: ended: %s after %" PRIu64 ".%" PRIu64 " s, %u calls lost", guest->name,
                end->cause, end->uptime_ns / HUB_SECOND, end->uptime_ns % HUB_SECOND / 100000000,
                end->calls_lost);
}

static void give_up(struct host_guest *guest, const struct host_end *end, bool over)
{
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_FAILED,
                                  .cause = end->cause,
                                  .rule = end->rule,
                                  .restarts = guest->supervision.restarts_max > 0
                                                  ? (uint32_t)guest->supervision.restarts_max
                                                  : 0};

    event.restarts_max = event.restarts;
    guest->over = over;
    host_guest_move(guest, HOST_GUEST_FAILED, over ? "it is not restarted" : "its budget is spent");
    host_decide_tell(guest, &event);
    rapahub_log(over ? RAPAHUB_LOG_INFO : RAPAHUB_LOG_ERROR, "guests", "%s: not started again: %s",
                guest->name, over ? "as asked" : "its budget of restarts is used up");
}

static void restart_later(struct host_guest *guest, const struct host_end *end, uint64_t now)
{
    uint64_t delay = host_backoff_next(&guest->backoff, end->ready_ns);
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_RESTART,
                                  .cause = end->cause,
                                  .due_ns = delay,
                                  .restarts = host_budget_used(&guest->budget, now),
                                  .restarts_max = guest->budget.max};

    host_write_lock(guest->host);
    guest->due_ns = hub_clock_after(delay);
    host_unlock(guest->host);
    host_guest_move(guest, HOST_GUEST_BACKOFF, "it is started again");
    host_loop_set(&guest->host->loop, &guest->timer, guest->due_ns);
    host_decide_tell(guest, &event);
}

/* Who came by itself comes again by itself. One that never served was never told of. */
static void end_anonymous(struct host_guest *guest, const struct host_end *end)
{
    move_containers(guest, HOST_CONTAINER_GONE, "its guest is over");
    if (guest->initial)
        rapahub_log(RAPAHUB_LOG_WARN, "guests", "%s: came, and ended before it served: %s",
                    guest->name, end->cause);
    else
        tell_down(guest, end);
    host_guest_move(guest, HOST_GUEST_CLOSED, "it is over");
    host_places_forget_containers(guest);
}

void host_decide(struct host_guest *guest, const struct host_end *end)
{
    enum rapahub_exit_class class = end->class;
    uint64_t now = hub_clock_now();

    snprintf(guest->cause, sizeof guest->cause, "%s", end->cause);
    if (guest->anonymous) {
        end_anonymous(guest, end);
        return;
    }
    if (guest->initial) {
        host_guest_move(guest, HOST_GUEST_CLOSED, "its first start failed");
        return;
    }
    move_containers(guest, HOST_CONTAINER_DOWN, "its guest ended");
    tell_down(guest, end);
    if (guest->asked || guest->host->closing)
        host_guest_move(guest, HOST_GUEST_STOPPED, "as asked");
    else if (host_exits_judge(&guest->exits, NULL, &class) != HOST_EXIT_RESTART)
        give_up(guest, end, true);
    else if (!host_budget_spend(&guest->budget, now))
        give_up(guest, end, false);
    else
        restart_later(guest, end, now);
    if (guest->state != HOST_GUEST_BACKOFF)
        move_containers(guest, HOST_CONTAINER_GONE, "its guest is over");
}
