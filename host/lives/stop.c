/* SPDX-License-Identifier: Apache-2.0 */
/* stop: ends a life of a guest from outside, and with it the guest. */
#include <rapahub/error.h>

#include "host/guest/exit_command.h"
#include "host/guest/guest_table.h"
#include "host/lives/guests.h"
#include "host/observe/observe.h"
#include "host/owner/detached.h"
#include "hub/base/clock.h"

struct stop {
    struct rapahub_guest_id id;

    struct host_guest *guest; /* pinned; this and the rest are set when it begins */
    struct host_timer due;
};

static int refuse_stale(void)
{
    return rapahub_fail(RAPAHUB_ESTALE, "", "this life of the guest has ended already");
}

static int begin(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    struct stop *stop = argument;
    struct host_guest *guest = host_guest_find(HOST_PROCESS(host), stop->id);

    if (!guest ||
        (!guest->life && guest->state != HOST_GUEST_BACKOFF && !host_exit_command_runs(guest)))
        return refuse_stale();
    stop->guest = guest;
    guest->pins++;
    stop->due.on = host_threads_on_due;
    host_loop_set(&HOST_OWNER(host)->loop, &stop->due, host_guests_stop(guest));
    return 0;
}

static bool is_over(const void *argument)
{
    const struct stop *stop = argument;

    return !host_guest_table_is_used(stop->guest) || hub_clock_left(stop->due.due_ns) == 0;
}

static int end(struct host_owner *owner, void *argument)
{
    struct stop *stop = argument;
    struct host_guest *guest = stop->guest;

    (void)owner;
    host_loop_clear(&stop->due);
    guest->pins--;
    if (host_guest_table_is_used(guest))
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "hub.death.stuck", "%s does not die", guest->name);
    /* The guest never served, and its spawner has returned already. */
    if (guest->child.initial && guest->child.node != HOST_TREE_NONE && guest->pins == 0)
        host_guest_table_drop(guest);
    return 0;
}

static const struct host_threads_task task = {begin, is_over, end};

int rapahub_host_stop(struct rapahub_host *host, struct rapahub_guest_id guest)
{
    struct stop stop = {.id = guest};

    return host_threads_await(HOST_OWNER(host), &task, &stop);
}

int rapahub_host_stop_async(struct rapahub_host *host, struct rapahub_guest_id guest,
                            rapahub_on_done *on_done, void *user)
{
    const struct stop stop = {.id = guest};

    return host_detached_make(HOST_OWNER(host),
                              &(const struct host_detached_plan){.task = &task,
                                                                 .argument = &stop,
                                                                 .size = sizeof stop,
                                                                 .on_done = on_done,
                                                                 .user = user});
}

static int run_kill(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    const struct rapahub_guest_id *id = argument;
    struct host_guest *guest = host_guest_find(HOST_PROCESS(host), *id);

    if (!guest || !guest->life)
        return refuse_stale();
    /* A guest that cannot be killed is quarantined. */
    host_life_kill(guest->life, guest->life->anonymous && guest->life->process.pidfd < 0
                                    ? HOST_CAUSE_STOP_TIMEOUT
                                    : HOST_CAUSE_NONE);
    return 0;
}

int rapahub_host_kill(struct rapahub_host *host, struct rapahub_guest_id guest)
{
    return host_threads_run(HOST_OWNER(host), run_kill, &guest);
}
