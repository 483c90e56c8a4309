/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/children.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/container/container_lifecycle.h"
#include "host/guest/admission.h"
#include "host/guest/supervision.h"
#include "host/owner/threads.h"
#include "host/owner/wait.h"
#include "host/supervise/supervisor.h"
#include "hub/base/clock.h"

/* The embedder's handle of a supervisor. */
struct rapahub_supervisor {
    struct host_supervision *host;
    uint32_t number;
    struct hub_list link;
};

void host_children_free(struct host_supervision *host)
{
    for (struct hub_list *link; (link = hub_list_pop(&host->supervisors));)
        free(HUB_LIST_ITEM(link, struct rapahub_supervisor, link));
}

/* The arguments and the result of one task of the owner, for all functions of this file. */
struct job {
    struct rapahub_supervisor *supervisor;
    const struct rapahub_supervisor_options *group;
    const struct rapahub_guest_options *guest;
    struct rapahub_child_id child;
    uint64_t timeout_ns;
    const struct rapahub_container_options *container;
};

int host_children_refuse_stale(void)
{
    return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such child any more");
}

static int refuse_root(void)
{
    return rapahub_fail(RAPAHUB_ESTATE, "", "the default supervisor ends with its host");
}

int host_children_find_supervisor(const struct rapahub_supervisor *supervisor, uint32_t *out)
{
    const struct host_machine *machine = &supervisor->host->machine;

    *out = host_tree_find(&machine->tree, supervisor->number);
    if (*out == HOST_TREE_NONE || host_machine_child(machine, *out)->state == HOST_CHILD_CLOSED)
        return host_children_refuse_stale();
    return 0;
}

struct host_supervision *host_children_host(const struct rapahub_supervisor *supervisor)
{
    return supervisor->host;
}

int host_children_find(struct host_supervision *host, struct rapahub_child_id child,
                       struct host_guest **out)
{
    uint32_t place = host_tree_find(&host->machine.tree, child.number);

    *out = place == HOST_TREE_NONE ? NULL : host->children[place];
    return *out && !host_supervision_is_closed(*out) ? 0 : host_children_refuse_stale();
}

int host_children_find_any(struct host_supervision *host, struct rapahub_child_id child,
                           uint32_t *out)
{
    *out = host_tree_find(&host->machine.tree, child.number);
    if (*out == HOST_SUPERVISION_ROOT)
        return refuse_root();
    if (*out == HOST_TREE_NONE ||
        host_machine_child(&host->machine, *out)->state == HOST_CHILD_CLOSED)
        return host_children_refuse_stale();
    return 0;
}

static struct host_child *child_of(const struct host_guest *guest)
{
    return host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);
}

/* ---- supervisors ---- */

static struct rapahub_supervisor *known(struct host_supervision *host, uint32_t number)
{
    HUB_LIST_EACH (&host->supervisors, link) {
        struct rapahub_supervisor *one = HUB_LIST_ITEM(link, struct rapahub_supervisor, link);

        if (one->number == number)
            return one;
    }
    return NULL;
}

static struct rapahub_supervisor *make(struct host_supervision *host)
{
    struct rapahub_supervisor *made = calloc(1, sizeof *made);

    if (made) {
        made->host = host;
        hub_list_append(&host->supervisors, &made->link);
        return made;
    }
    rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a supervisor");
    return NULL;
}

/* All callers get the same supervisor. A failure is not remembered. r[impl supervise.default] */
static int run_default(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    struct job *job = argument;
    uint32_t number = host_machine_child(&host->machine, HOST_SUPERVISION_ROOT)->number;

    job->supervisor = known(host, number);
    if (!job->supervisor)
        job->supervisor = make(host);
    if (!job->supervisor)
        return RAPAHUB_ENOMEM;
    job->supervisor->number = number;
    return 0;
}

int rapahub_host_supervisor(struct rapahub_host *host, struct rapahub_supervisor **out)
{
    struct job job = {0};
    int r = host_threads_run(HOST_OWNER(host), run_default, &job);

    if (r == 0)
        *out = job.supervisor;
    return r;
}

static int run_create(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    struct job *job = argument;
    struct host_tree_plan plan = {.name = job->group && job->group->name ? job->group->name : "",
                                  .group = job->group};
    uint32_t place;
    int r = host_children_find_supervisor(job->supervisor, &plan.parent);

    if (r < 0)
        return r;
    job->supervisor = make(host);
    if (!job->supervisor)
        return RAPAHUB_ENOMEM;
    r = host_supervisor_add(&host->machine, &plan, hub_clock_now(), &place);
    if (r < 0) {
        hub_list_remove(&job->supervisor->link);
        free(job->supervisor);
        return r;
    }
    job->supervisor->number = host_machine_child(&host->machine, place)->number;
    host->hooks->listeners.added(host, place);
    host_supervision_settle(host);
    return 0;
}

int rapahub_supervisor_create(struct rapahub_supervisor *parent,
                              const struct rapahub_supervisor_options *options,
                              struct rapahub_supervisor **out)
{
    static const struct rapahub_supervisor_options none;
    struct job job = {.supervisor = parent, .group = options ? options : &none};
    int r = host_threads_run(HOST_OWNER(parent->host), run_create, &job);

    if (r == 0)
        *out = job.supervisor;
    return r;
}

/* The place of a closed child may have been given to another one. */
static bool is_gone(struct host_supervision *host, uint32_t number)
{
    uint32_t place = host_tree_find(&host->machine.tree, number);

    return place == HOST_TREE_NONE ||
           host_machine_child(&host->machine, place)->state == HOST_CHILD_CLOSED;
}

/* r[impl supervise.stop.deadline] */
static int run_stop_supervisor(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    const struct job *job = argument;
    uint64_t deadline = hub_clock_after(job->timeout_ns), now = hub_clock_now();
    uint32_t place;
    int r = host_children_find_supervisor(job->supervisor, &place);

    if (r == 0 && place == HOST_SUPERVISION_ROOT)
        return refuse_root();
    if (r < 0)
        return r;
    (void)host_supervisor_close(&host->machine, place, now);
    (void)host_supervisor_stop_by(&host->machine, place, deadline, now);
    host_supervision_settle(host);
    while (r >= 0 && !is_gone(host, job->supervisor->number))
        r = host_wait_turn(HOST_OWNER(host), 1000);
    if (r < 0)
        return r;
    hub_list_remove(&job->supervisor->link);
    free(job->supervisor);
    return 0;
}

int rapahub_supervisor_stop(struct rapahub_supervisor *supervisor, uint64_t timeout_ns)
{
    struct job job = {.supervisor = supervisor, .timeout_ns = timeout_ns};

    return host_threads_run(HOST_OWNER(supervisor->host), run_stop_supervisor, &job);
}

/* ---- a child is added ---- */

static int run_add(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    struct job *job = argument;
    struct host_admission_plan plan = {.options = job->guest, .kept = true};
    struct host_guest *guest;
    int r = host_children_find_supervisor(job->supervisor, &plan.supervisor);

    if (r == 0)
        r = host_admission(host, &plan, &guest);
    if (r == 0)
        job->child.number = child_of(guest)->number;
    return r;
}

int rapahub_supervisor_add(struct rapahub_supervisor *supervisor,
                           const struct rapahub_guest_options *options,
                           struct rapahub_child_id *out)
{
    struct job job = {.supervisor = supervisor, .guest = options};
    int r = host_threads_run(HOST_OWNER(supervisor->host), run_add, &job);

    if (r == 0)
        *out = job.child;
    return r;
}

/* ---- containers of a child ---- */

static bool is_down(const struct host_guest *guest)
{
    return host_tree_is_down(child_of(guest));
}

/* Waits for a child that starts or ends: its state is known soon. */
static int await_rest(struct host_guest *guest, uint64_t deadline)
{
    int r = 0;

    while (r >= 0 && !host_guest_is_up(guest) && !is_down(guest)) {
        r = host_wait_until(&guest->host->owner, deadline);
        if (r >= 0 && hub_clock_left(deadline) == 0)
            r = rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not ready in time", guest->name);
    }
    return r < 0 ? r : 0;
}

static int run_add_container(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    const struct job *job = argument;
    struct host_guest *guest;
    int r = host_children_find(host, job->child, &guest);

    if (r < 0)
        return r;
    guest->pins++;
    r = await_rest(guest, hub_clock_after(host->call.process.options.call_timeout_ns));
    if (r == 0 && is_down(guest))
        r = host_container_lifecycle_keep(guest, job->container);
    else if (r == 0)
        r = host_container_lifecycle_begin(
            &host->call, &(struct host_container_lifecycle_begin){.guest = guest->id,
                                                                  .options = job->container});
    guest->pins--;
    return r;
}

int rapahub_child_add_container(struct rapahub_host *host, struct rapahub_child_id child,
                                const struct rapahub_container_options *options)
{
    struct job job = {.child = child, .container = options};

    return host_threads_run(HOST_OWNER(host), run_add_container, &job);
}
