/* SPDX-License-Identifier: Apache-2.0 */
/* hooks: all functions of upper floors that lower floors of a host call. Each table is described
 * where it is declared, in the floor that calls through it. */
#include "host/hooks.h"

#include "host/call/nested_upcall.h"
#include "host/call/router.h"
#include "host/call/streaming.h"
#include "host/guest/activation.h"
#include "host/guest/exit_command.h"
#include "host/host.h"
#include "host/lives/after_exit.h"
#include "host/lives/anonymous.h"
#include "host/lives/death.h"
#include "host/lives/guests.h"
#include "host/lives/startup.h"
#include "host/observe/observer.h"
#include "host/turn.h"

static int turn(struct host_owner *host, int timeout_ms)
{
    return host_turn(HOST_WHOLE(host), timeout_ms);
}

static int turn_until(struct host_owner *host, uint64_t deadline_ns)
{
    return host_turn_until(HOST_WHOLE(host), deadline_ns);
}

static const struct host_turns turns = {.turn = turn, .until = turn_until};

static int activate(struct host_call *host, struct rapahub_container_id target,
                    uint64_t deadline_ns)
{
    return host_activation_call(HOST_SUPERVISION(host), target, deadline_ns);
}

static const struct host_call_hooks of_call = {
    .look = host_activation_look,
    .call = activate,
    .serve = host_nested_upcall_serve,
    .serve_queued = host_nested_upcall_serve_queued,
    .stream = host_streaming_start,
    .away = host_router_take,
    .ready = host_startup_ready,
};

static void added(struct host_supervision *host, uint32_t place)
{
    host_observer_added(HOST_OBSERVE(host), place);
}

static void deciding(struct host_supervision *host, const struct host_decision *decision)
{
    host_observer_moved(HOST_OBSERVE(host), decision);
}

static void decided(struct host_supervision *host, const struct host_decision *decision)
{
    host_monitors_moved(HOST_OBSERVE(host), decision);
}

static bool anonymous_guests(struct host_supervision *host)
{
    return host_anonymous_look(HOST_OBSERVE(host));
}

static const struct host_supervision_hooks of_supervision = {
    .lives = {.attached = host_guests_attached,
              .ready = host_guests_ready,
              .open = host_guests_open,
              .leaving = host_guests_leaving,
              .stuck = host_guests_abort,
              .may_be_dead = host_death_look,
              .on_pidfd = host_death_on_pidfd,
              .on_bell = host_death_on_bell},
    .decisions = {.start = host_guests_start,
                  .move = host_after_exit_moved,
                  .ask = host_guests_ask,
                  .finish = host_exit_command_kill,
                  .end = host_guests_end},
    .listeners = {.added = added, .deciding = deciding, .decided = decided},
    .anonymous_guests = anonymous_guests,
};

void host_hooks_fill(struct rapahub_host *host)
{
    HOST_OWNER(host)->turns = &turns;
    HOST_CALL(host)->hooks = &of_call;
    HOST_SUPERVISION(host)->hooks = &of_supervision;
}
