/* SPDX-License-Identifier: Apache-2.0 */
/* operations: start, stop, restart and close of a child or a supervisor, asked for from outside.
 * Each is a task of the owner that ends when the new state is reached; the caller waits for it, or
 * does not. */
#include <rapahub/supervise.h>

#include "host/guest/children.h"
#include "host/guest/supervision.h"
#include "host/owner/detached.h"
#include "host/supervise/supervisor.h"
#include "hub/base/clock.h"

struct operation {
    struct rapahub_child_id child;
    uint64_t timeout_ns; /* 0: the operation ends as soon as it has begun */
    int (*how)(struct host_machine *machine, uint32_t place, uint64_t now_ns);

    struct host_supervision *host; /* this and the rest are set when it begins */
    uint64_t incarnation;          /* the child's, when it begins */
    struct host_timer due;
};

/* A child that is to stop, and waits for others that stop before it, does not count as up. */
static bool is_up(const struct host_child *child)
{
    return host_tree_is_up(child) && !child->stop;
}

/* Nothing will start the child any more. */
static bool is_lost(const struct host_child *child)
{
    return host_tree_is_down(child) && !child->wanted;
}

static int explain_lost(const struct host_supervision *host, uint32_t place)
{
    const struct host_child *child = host_machine_child(&host->machine, place);
    const struct host_guest *guest = host->children[place];

    if (child->state == HOST_CHILD_FAILED)
        return rapahub_fail(RAPAHUB_EGIVENUP, "", "%s was given up: %s",
                            guest ? guest->name : child->name,
                            guest ? guest->ends.cause : "its children failed too often");
    return rapahub_fail(RAPAHUB_ESTOPPED, "", "%s was stopped meanwhile", child->name);
}

/* For a supervisor the text names the first child that keeps it waiting. */
static int explain_late(const struct host_supervision *host, uint32_t place)
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

static int begin(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    struct operation *operation = argument;
    uint32_t place;
    int r = host_children_find_any(host, operation->child, &place);

    if (r == 0)
        r = operation->how(&host->machine, place, hub_clock_now());
    host_supervision_settle(host);
    if (r < 0)
        return r;
    operation->host = host;
    operation->incarnation = host_machine_child(&host->machine, place)->incarnation;
    operation->due.on = host_threads_on_due;
    host_loop_set(&HOST_OWNER(host)->loop, &operation->due, hub_clock_after(operation->timeout_ns));
    return 0;
}

static bool is_late(const struct operation *operation)
{
    return hub_clock_left(operation->due.due_ns) == 0;
}

/* A child that is gone counts as down. */
static const struct host_child *find(const struct operation *operation)
{
    const struct host_machine *machine = &operation->host->machine;
    uint32_t place = host_tree_find(&machine->tree, operation->child.number);

    return place == HOST_TREE_NONE ? NULL : host_machine_child(machine, place);
}

static bool is_decided(const void *argument)
{
    const struct operation *operation = argument;
    const struct host_child *child = find(operation);

    return !child || is_up(child) || is_lost(child) || is_late(operation);
}

static int end_up(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    struct operation *operation = argument;
    const struct host_child *child = find(operation);
    uint32_t place = host_tree_find(&host->machine.tree, operation->child.number);

    host_loop_clear(&operation->due);
    if (operation->timeout_ns == 0)
        return 0;
    if (!child)
        return host_children_refuse_stale();
    if (is_up(child))
        return 0;
    return is_lost(child) ? explain_lost(host, place) : explain_late(host, place);
}

static bool is_there_no_more(const void *argument)
{
    const struct operation *operation = argument;
    const struct host_child *child = find(operation);

    return !child || host_tree_is_down(child) || child->incarnation != operation->incarnation ||
           is_late(operation);
}

static int end_down(struct host_owner *owner, void *argument)
{
    struct operation *operation = argument;
    const struct host_child *child = find(operation);

    (void)owner;
    host_loop_clear(&operation->due);
    if (operation->timeout_ns == 0 || !child || host_tree_is_down(child))
        return 0;
    if (child->incarnation != operation->incarnation)
        return rapahub_fail(RAPAHUB_ESTATE, "", "%s was started again meanwhile", child->name);
    return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "%s is not down yet", child->name);
}

static const struct host_threads_task up = {begin, is_decided, end_up};
static const struct host_threads_task down = {begin, is_there_no_more, end_down};

int rapahub_child_start(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns)
{
    struct operation operation = {child, timeout_ns, .how = host_supervisor_start};

    return host_threads_await(HOST_OWNER(host), &up, &operation);
}

int rapahub_child_stop(struct rapahub_host *host, struct rapahub_child_id child,
                       uint64_t timeout_ns)
{
    struct operation operation = {child, timeout_ns, .how = host_supervisor_stop};

    return host_threads_await(HOST_OWNER(host), &down, &operation);
}

int rapahub_child_restart(struct rapahub_host *host, struct rapahub_child_id child,
                          uint64_t timeout_ns)
{
    struct operation operation = {child, timeout_ns, .how = host_supervisor_restart};

    return host_threads_await(HOST_OWNER(host), &up, &operation);
}

/* Restarts a child whatever its state: a failed one is reset. */
static int renew(struct host_machine *machine, uint32_t place, uint64_t now_ns)
{
    return host_machine_child(machine, place)->state == HOST_CHILD_FAILED
               ? host_supervisor_reset(machine, place, now_ns)
               : host_supervisor_restart(machine, place, now_ns);
}

int rapahub_child_renew(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns)
{
    struct operation operation = {child, timeout_ns, .how = renew};

    return host_threads_await(HOST_OWNER(host), &up, &operation);
}

int rapahub_child_reset(struct rapahub_host *host, struct rapahub_child_id child)
{
    struct operation operation = {child, 0, .how = host_supervisor_reset};

    return host_threads_await(HOST_OWNER(host), &up, &operation);
}

static int begin_close(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    const struct operation *operation = argument;
    struct host_guest *guest;
    int r = host_children_find(host, operation->child, &guest);

    if (r < 0)
        return r;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    guest->closed = true;
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return begin(HOST_OWNER(host), argument);
}

int rapahub_child_close(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns)
{
    static const struct host_threads_task close = {begin_close, is_there_no_more, end_down};
    struct operation operation = {child, timeout_ns, .how = host_supervisor_close};

    return host_threads_await(HOST_OWNER(host), &close, &operation);
}

/* ---- without the wait ---- */

int rapahub_child_stop_async(struct rapahub_host *host, struct rapahub_child_id child,
                             uint64_t timeout_ns, rapahub_on_done *on_done, void *user)
{
    const struct operation operation = {child, timeout_ns, .how = host_supervisor_stop};

    return host_detached_make(HOST_OWNER(host),
                              &(const struct host_detached_plan){.task = &down,
                                                                 .argument = &operation,
                                                                 .size = sizeof operation,
                                                                 .on_done = on_done,
                                                                 .user = user});
}

int rapahub_child_renew_async(struct rapahub_host *host, struct rapahub_child_id child,
                              uint64_t timeout_ns, rapahub_on_done *on_done, void *user)
{
    const struct operation operation = {child, timeout_ns, .how = renew};

    return host_detached_make(HOST_OWNER(host),
                              &(const struct host_detached_plan){.task = &up,
                                                                 .argument = &operation,
                                                                 .size = sizeof operation,
                                                                 .on_done = on_done,
                                                                 .user = user});
}
