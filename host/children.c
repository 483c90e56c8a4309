/* SPDX-License-Identifier: Apache-2.0 */
#include "host/children.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/care.h"
#include "host/enrol.h"
#include "host/host.h"
#include "host/observer.h"
#include "host/supervise/supervisor.h"
#include "host/supervision.h"
#include "host/threads.h"
#include "host/turn.h"
#include "hub/base/clock.h"

/* What the embedder holds of one. */
struct rapahub_supervisor {
    struct rapahub_host *host;
    uint32_t number;
    struct hub_list link;
};

void host_children_free(struct rapahub_host *host)
{
    for (struct hub_list *link; (link = hub_list_pop(&host->supervisors));)
        free(HUB_LIST_ITEM(link, struct rapahub_supervisor, link));
}

typedef int wish(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* One job of the owner, for all of these functions. */
struct job {
    struct rapahub_supervisor *supervisor;
    const struct rapahub_supervisor_options *group;
    const struct rapahub_guest_options *guest;
    struct rapahub_child_id child;
    uint64_t timeout_ns;
    const struct rapahub_container_options *container;
    wish *start; /* how it comes up */
    struct rapahub_host *host;
    struct host_timer due;
};

static int refuse_stale(void)
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
        return refuse_stale();
    return 0;
}

struct rapahub_host *host_children_host(const struct rapahub_supervisor *supervisor)
{
    return supervisor->host;
}

int host_children_find(struct rapahub_host *host, struct rapahub_child_id child,
                       struct host_guest **out)
{
    uint32_t place = host_tree_find(&host->machine.tree, child.number);

    *out = place == HOST_TREE_NONE ? NULL : host->children[place];
    return *out && !host_supervision_is_closed(*out) ? 0 : refuse_stale();
}

static struct host_child *child_of(const struct host_guest *guest)
{
    return host_machine_child(&guest->host->machine, guest->child);
}

/* ---- supervisors ---- */

static struct rapahub_supervisor *known(struct rapahub_host *host, uint32_t number)
{
    HUB_LIST_EACH (&host->supervisors, link) {
        struct rapahub_supervisor *one = HUB_LIST_ITEM(link, struct rapahub_supervisor, link);

        if (one->number == number)
            return one;
    }
    return NULL;
}

static struct rapahub_supervisor *make(struct rapahub_host *host)
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

/* The same one for all who ask; a failure is not remembered. r[impl supervise.default] */
static int run_default(struct rapahub_host *host, void *argument)
{
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
    int r = host_threads_run(host, run_default, &job);

    if (r == 0)
        *out = job.supervisor;
    return r;
}

static int run_create(struct rapahub_host *host, void *argument)
{
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
    host_observer_added(host, place);
    host_supervision_settle(host);
    return 0;
}

int rapahub_supervisor_create(struct rapahub_supervisor *parent,
                              const struct rapahub_supervisor_options *options,
                              struct rapahub_supervisor **out)
{
    static const struct rapahub_supervisor_options none;
    struct job job = {.supervisor = parent, .group = options ? options : &none};
    int r = host_threads_run(parent->host, run_create, &job);

    if (r == 0)
        *out = job.supervisor;
    return r;
}

/* Its place may have been given to another child when it was closed. */
static bool is_gone(struct rapahub_host *host, uint32_t number)
{
    uint32_t place = host_tree_find(&host->machine.tree, number);

    return place == HOST_TREE_NONE ||
           host_machine_child(&host->machine, place)->state == HOST_CHILD_CLOSED;
}

/* r[impl supervise.stop.deadline] */
static int run_stop_supervisor(struct rapahub_host *host, void *argument)
{
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
        r = host_turn(host, 1000);
    if (r < 0)
        return r;
    hub_list_remove(&job->supervisor->link);
    free(job->supervisor);
    return 0;
}

int rapahub_supervisor_stop(struct rapahub_supervisor *supervisor, uint64_t timeout_ns)
{
    struct job job = {.supervisor = supervisor, .timeout_ns = timeout_ns};

    return host_threads_run(supervisor->host, run_stop_supervisor, &job);
}

/* ---- a child comes ---- */

static int run_add(struct rapahub_host *host, void *argument)
{
    struct job *job = argument;
    struct host_enrol_plan plan = {.options = job->guest, .kept = true};
    struct host_guest *guest;
    int r = host_children_find_supervisor(job->supervisor, &plan.supervisor);

    if (r == 0)
        r = host_enrol(host, &plan, &guest);
    if (r == 0)
        job->child.number = child_of(guest)->number;
    return r;
}

int rapahub_supervisor_add(struct rapahub_supervisor *supervisor,
                           const struct rapahub_guest_options *options,
                           struct rapahub_child_id *out)
{
    struct job job = {.supervisor = supervisor, .guest = options};
    int r = host_threads_run(supervisor->host, run_add, &job);

    if (r == 0)
        *out = job.child;
    return r;
}

/* ---- what is asked of a child ---- */

/* Also of a supervisor, but the default one. */
static int find_any(struct rapahub_host *host, struct rapahub_child_id child, uint32_t *place)
{
    *place = host_tree_find(&host->machine.tree, child.number);
    if (*place == HOST_SUPERVISION_ROOT)
        return refuse_root();
    if (*place == HOST_TREE_NONE ||
        host_machine_child(&host->machine, *place)->state == HOST_CHILD_CLOSED)
        return refuse_stale();
    return 0;
}

/* Not one that is to go, and waits for those that go before it. */
static bool is_up(const struct host_child *child)
{
    return host_tree_is_up(child) && !child->stop;
}

/* Nobody will start it any more. */
static bool is_lost(const struct host_child *child)
{
    return host_tree_is_down(child) && !child->wanted;
}

static int explain_lost(const struct rapahub_host *host, uint32_t place)
{
    const struct host_child *child = host_machine_child(&host->machine, place);
    const struct host_guest *guest = host->children[place];

    if (child->state == HOST_CHILD_FAILED)
        return rapahub_fail(RAPAHUB_EGIVENUP, "", "%s was given up: %s",
                            guest ? guest->name : child->name,
                            guest ? guest->cause : "its children failed too often");
    return rapahub_fail(RAPAHUB_ESTOPPED, "", "%s was stopped meanwhile", child->name);
}

/* Of a supervisor: the first of its children that keeps it waiting. */
static int explain_late(const struct rapahub_host *host, uint32_t place)
{
    const struct host_child *child = host_machine_child(&host->machine, place);

    HOST_TREE_EACH_CHILD(&host->machine.tree, place, i)
    {
        const struct host_child *other = host_machine_child(&host->machine, i);

        if (other->wanted && !host_tree_is_up(other))
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s is not ready yet: %s is %s", child->name,
                                other->name, host_tree_states.of[other->state].name);
    }
    return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s is not ready yet", child->name);
}

/* One that is gone is down. */
static int await_down(struct rapahub_host *host, const struct job *job)
{
    uint64_t deadline = hub_clock_after(job->timeout_ns);
    int r = 0;

    while (r >= 0 && job->timeout_ns > 0) {
        uint32_t place = host_tree_find(&host->machine.tree, job->child.number);
        const struct host_child *child =
            place == HOST_TREE_NONE ? NULL : host_machine_child(&host->machine, place);

        if (!child || host_tree_is_down(child))
            return 0;
        if (hub_clock_left(deadline) == 0)
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s is not down yet", child->name);
        r = host_turn_until(host, deadline);
    }
    return r < 0 ? r : 0;
}

static bool is_down(const struct host_guest *guest)
{
    return host_tree_is_down(child_of(guest));
}

/* One that starts, or ends, is waited for: what becomes of it is known soon. */
static int await_rest(struct host_guest *guest, uint64_t deadline)
{
    int r = 0;

    while (r >= 0 && !host_guest_is_up(guest) && !is_down(guest)) {
        r = host_turn_until(guest->host, deadline);
        if (r >= 0 && hub_clock_left(deadline) == 0)
            r = rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s was not ready in time", guest->name);
    }
    return r < 0 ? r : 0;
}

static int run_add_container(struct rapahub_host *host, void *argument)
{
    const struct job *job = argument;
    struct host_guest *guest;
    int r = host_children_find(host, job->child, &guest);

    if (r < 0)
        return r;
    guest->pins++;
    r = await_rest(guest, hub_clock_after(host->options.call_timeout_ns));
    if (r == 0 && is_down(guest))
        r = host_care_keep(guest, job->container);
    else if (r == 0)
        r = host_care_begin(
            host, &(struct host_care_begin){.guest = guest->id, .options = job->container});
    guest->pins--;
    return r;
}

int rapahub_child_add_container(struct rapahub_host *host, struct rapahub_child_id child,
                                const struct rapahub_container_options *options)
{
    struct job job = {.child = child, .container = options};

    return host_threads_run(host, run_add_container, &job);
}

static int carry_out_wish(struct rapahub_host *host, const struct job *job, wish *what)
{
    uint32_t place;
    int r = find_any(host, job->child, &place);

    if (r == 0)
        r = what(&host->machine, place, hub_clock_now());
    host_supervision_settle(host);
    return r;
}

static int begin_up(struct rapahub_host *host, void *argument)
{
    struct job *job = argument;
    int r = carry_out_wish(host, job, job->start);

    if (r < 0)
        return r;
    job->host = host;
    job->due.on = host_threads_on_due;
    host_loop_set(&host->loop, &job->due, hub_clock_after(job->timeout_ns));
    return 0;
}

static bool is_decided(const void *argument)
{
    const struct job *job = argument;
    const struct host_machine *machine = &job->host->machine;
    uint32_t place = host_tree_find(&machine->tree, job->child.number);

    return place == HOST_TREE_NONE || is_up(host_machine_child(machine, place)) ||
           is_lost(host_machine_child(machine, place)) || hub_clock_left(job->due.due_ns) == 0;
}

static int end_up(struct rapahub_host *host, void *argument)
{
    struct job *job = argument;
    uint32_t place = host_tree_find(&host->machine.tree, job->child.number);

    host_loop_clear(&job->due);
    if (job->timeout_ns == 0)
        return 0;
    if (place == HOST_TREE_NONE)
        return refuse_stale();
    if (is_up(host_machine_child(&host->machine, place)))
        return 0;
    return is_lost(host_machine_child(&host->machine, place)) ? explain_lost(host, place)
                                                              : explain_late(host, place);
}

static int await_up(struct rapahub_host *host, struct job *job)
{
    static const struct host_threads_task up = {begin_up, is_decided, end_up};

    return host_threads_await(host, &up, job);
}

int rapahub_child_start(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns)
{
    struct job job = {.child = child, .timeout_ns = timeout_ns, .start = host_supervisor_start};

    return await_up(host, &job);
}

static int run_stop(struct rapahub_host *host, void *argument)
{
    const struct job *job = argument;
    int r = carry_out_wish(host, job, host_supervisor_stop);

    return r < 0 ? r : await_down(host, job);
}

int rapahub_child_stop(struct rapahub_host *host, struct rapahub_child_id child,
                       uint64_t timeout_ns)
{
    struct job job = {.child = child, .timeout_ns = timeout_ns};

    return host_threads_run(host, run_stop, &job);
}

int rapahub_child_restart(struct rapahub_host *host, struct rapahub_child_id child,
                          uint64_t timeout_ns)
{
    struct job job = {.child = child, .timeout_ns = timeout_ns, .start = host_supervisor_restart};

    return await_up(host, &job);
}

static int run_reset(struct rapahub_host *host, void *argument)
{
    return carry_out_wish(host, argument, host_supervisor_reset);
}

int rapahub_child_reset(struct rapahub_host *host, struct rapahub_child_id child)
{
    struct job job = {.child = child};

    return host_threads_run(host, run_reset, &job);
}

static int run_close(struct rapahub_host *host, void *argument)
{
    const struct job *job = argument;
    struct host_guest *guest;
    int r = host_children_find(host, job->child, &guest);

    if (r < 0)
        return r;
    host_write_lock(host);
    guest->closed = true;
    host_unlock(host);
    r = carry_out_wish(host, job, host_supervisor_close);
    return r < 0 ? r : await_down(host, job);
}

int rapahub_child_close(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns)
{
    struct job job = {.child = child, .timeout_ns = timeout_ns};

    return host_threads_run(host, run_close, &job);
}
