/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/census.h"

#include <string.h>

#include "host/guest/supervision.h"
#include "host/owner/threads.h"
#include "hub/base/clock.h"

static void describe_guest(const struct host_guest *guest, struct rapahub_child_status *out)
{
    out->guest = guest->id;
    out->pid = guest->life ? guest->life->process.pid : 0;
    out->restarts = guest->totals.restarts;
}

void host_census_status(const struct host_supervision *host, uint32_t place,
                        struct rapahub_child_status *out)
{
    const struct host_child *child = host_machine_child(&host->machine, place);
    const struct host_budget *budget = child->is_supervisor ? &child->intensity : &child->budget;
    uint64_t now = hub_clock_now();

    *out = (struct rapahub_child_status){
        .child = {child->number},
        .state = host_tree_states.of[child->state].name,
        .incarnation = child->incarnation,
        .failures = host_budget_used(budget, now),
        .failures_max = child->is_supervisor && !child->limited ? 0 : budget->max,
        .due_ns =
            child->state == HOST_CHILD_BACKOFF && child->due_ns > now ? child->due_ns - now : 0,
        .is_supervisor = child->is_supervisor,
        .strategy = child->group.strategy,
    };
    memcpy(out->name, child->name, sizeof out->name);
    if (child->parent != HOST_TREE_NONE)
        out->parent.number = host_machine_child(&host->machine, child->parent)->number;
    if (host->children[place])
        describe_guest(host->children[place], out);
}

/* ---- status of a child ---- */

struct status_job {
    struct rapahub_child_id child;
    struct rapahub_child_status *out;
};

static int run_status(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    const struct status_job *job = argument;
    uint32_t place = host_tree_find(&host->machine.tree, job->child.number);

    if (place == HOST_TREE_NONE ||
        host_machine_child(&host->machine, place)->state == HOST_CHILD_CLOSED)
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such child any more");
    host_census_status(host, place, job->out);
    return 0;
}

int rapahub_child_status(struct rapahub_host *host, struct rapahub_child_id child,
                         struct rapahub_child_status *out)
{
    struct status_job job = {child, out};

    return host_threads_look(HOST_OWNER(host), run_status, &job); /* allowed in a callback too */
}

/* ---- visit of all children ---- */

struct children_job {
    void (*visit)(void *user, const struct rapahub_child_status *status);
    void *user;
};

/* The recursion is as deep as supervisors are nested, and their number is bounded. */
static void visit_from(struct host_supervision *host, const struct children_job *job,
                       uint32_t place)
{
    struct rapahub_child_status status;

    host_census_status(host, place, &status);
    HOST_OWNER(host)->callbacks++;
    job->visit(job->user, &status);
    HOST_OWNER(host)->callbacks--;
    HOST_TREE_EACH_CHILD(&host->machine.tree, place, i)
    visit_from(host, job, i);
}

static int run_children(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);

    visit_from(host, argument, HOST_SUPERVISION_ROOT);
    return 0;
}

int rapahub_host_children(struct rapahub_host *host,
                          void (*visit)(void *user, const struct rapahub_child_status *status),
                          void *user)
{
    struct children_job job = {visit, user};

    return host_threads_look(HOST_OWNER(host), run_children, &job);
}
