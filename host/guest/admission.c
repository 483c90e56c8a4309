/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/admission.h"

#include "host/container/container_lifecycle.h"
#include "host/guest/guest_record.h"
#include "host/guest/guest_table.h"
#include "host/guest/supervision.h"
#include "host/owner/threads.h"
#include "hub/base/clock.h"

int host_admission(struct host_supervision *host, const struct host_admission_plan *plan,
                   struct host_guest **out)
{
    struct host_guest *guest = NULL;
    uint32_t place = 0;
    int r = host_options_check_guest(plan->options);

    if (r == 0 && plan->options->name)
        r = host_guest_table_check_name(host, plan->options->name);
    if (r == 0)
        r = host_guest_record_create(host, plan->options, &guest);
    if (r < 0)
        return r;
    guest->child.supervisor = plan->supervisor;
    guest->kept = plan->kept;
    r = host_guest_table_enter(guest, &place);
    if (r < 0) {
        host_guest_record_release(&guest);
        return r;
    }
    guest->pins++;
    if (plan->options->container)
        r = host_container_lifecycle_keep(guest, plan->options->container);
    if (r == 0)
        r = host_supervision_add(guest, plan->options->supervision, plan->trial);
    guest->pins--;
    if (r < 0)
        host_guest_table_forget(host, place);
    else
        *out = guest;
    return r;
}

/* ---- for a caller that waits until the guest serves ---- */

/* A guest that waits for its dependencies, or for its turn to start, waits at most the start
 * timeout. */
static int begin_spawn(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    struct host_admission_spawn *spawn = argument;
    const struct host_admission_plan plan = {
        .options = spawn->options, .supervisor = HOST_SUPERVISION_ROOT, .trial = true};
    int r = host_admission(host, &plan, &spawn->guest);

    if (r < 0)
        return r;
    spawn->guest->pins++;
    spawn->due.on = host_threads_on_due;
    host_loop_set(&HOST_OWNER(host)->loop, &spawn->due,
                  hub_clock_after(spawn->guest->supervision.start_timeout_ns));
    host_supervision_start(spawn->guest);
    return 0;
}

/* The guest may have served, and ended for good, since the last look. */
static bool is_spawned(const void *argument)
{
    const struct host_admission_spawn *spawn = argument;
    const struct host_guest *guest = spawn->guest;

    if (guest->state == HOST_GUEST_STOPPED)
        return !guest->child.initial || hub_clock_left(spawn->due.due_ns) == 0;
    return host_guest_is_up(guest) || guest->state == HOST_GUEST_CLOSED ||
           guest->state == HOST_GUEST_FAILED;
}

static int explain(const struct host_guest *guest)
{
    if (guest->state == HOST_GUEST_STOPPED)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "",
                            "%s waits in vain for those it requires, or for its turn", guest->name);
    return host_verdict_give(&guest->failure.verdict);
}

static int end_spawn(struct host_owner *owner, void *argument)
{
    struct host_admission_spawn *spawn = argument;
    struct host_guest *guest = spawn->guest;
    int r = 0;

    (void)owner;
    host_loop_clear(&spawn->due);
    guest->pins--;
    if (!guest->child.initial) {
        *spawn->out = guest->id;
    } else {
        r = explain(guest);
        if (guest->pins == 0) /* else the last waiting caller drops the guest */
            host_guest_table_drop(guest);
    }
    return r;
}

const struct host_threads_task host_admission_spawn_task = {begin_spawn, is_spawned, end_spawn};
