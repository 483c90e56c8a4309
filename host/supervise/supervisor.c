/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/supervisor.h"

#include <rapahub/error.h>

#include "host/supervise/settle.h"
#include "host/supervise/strategy.h"

static int refuse(int code, const struct host_child *child, const char *why)
{
    return rapahub_fail(code, "", "%s: %s", child->name, why);
}

static bool runs(const struct host_child *child)
{
    return !child->stop && (child->state == HOST_CHILD_ATTACHED || host_tree_is_up(child));
}

static const struct host_child *above(const struct host_machine *machine,
                                      const struct host_child *child)
{
    return child->parent == HOST_TREE_NONE ? NULL : host_machine_child(machine, child->parent);
}

/* Returns 0, or the reason for which its supervisor cannot start it. */
static int check_above(const struct host_machine *machine, const struct host_child *child)
{
    const struct host_child *supervisor = above(machine, child);

    if (child->state == HOST_CHILD_CLOSED || child->closing)
        return refuse(RAPAHUB_ECLOSED, child, "it was closed");
    if (supervisor && !runs(supervisor))
        return rapahub_fail(RAPAHUB_ESTATE, "", "%s: its supervisor%s%s does not run; start that",
                            child->name, supervisor->name[0] ? " " : "", supervisor->name);
    return 0;
}

int host_supervisor_add(struct host_machine *machine, const struct host_tree_plan *plan,
                        uint64_t now, uint32_t *out)
{
    struct host_tree_plan seeded = *plan;
    struct host_child *child;
    bool runs_now = true;
    int r;

    if (plan->parent != HOST_TREE_NONE) {
        const struct host_child *parent = host_machine_child(machine, plan->parent);

        if (parent->state == HOST_CHILD_CLOSED || parent->stop ||
            parent->state == HOST_CHILD_STOPPING)
            return refuse(RAPAHUB_ESTATE, parent, "it takes no children: it ends");
        runs_now = runs(parent);
    }
    seeded.seed = machine->seeds++;
    r = host_tree_add(&machine->tree, &seeded, out);
    if (r < 0)
        return r;
    child = host_machine_child(machine, *out);
    child->wanted = runs_now && child->how.start != RAPAHUB_START_MANUAL;
    child->due_ns = now;
    host_settle(machine, now);
    return 0;
}

/* ---- requests ---- */

static void want(struct host_child *child, uint64_t now)
{
    child->wanted = child->called = true;
    child->held = child->over = child->uncounted = false;
    child->due_ns = now;
}

int host_supervisor_start(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    int r = check_above(machine, child);

    if (r < 0)
        return r;
    if (child->state == HOST_CHILD_FAILED)
        return refuse(RAPAHUB_EGIVENUP, child, "it has failed; reset it");
    if (host_tree_is_down(child))
        host_backoff_reset(&child->backoff);
    want(child, now);
    host_settle(machine, now);
    return 0;
}

/* The child, and those that may not run without it. */
static void hold(struct host_machine *machine, uint32_t place)
{
    host_strategy_mark_dependants(&machine->tree, place);
    for (uint32_t i = 0; i < machine->tree.max; i++) {
        struct host_child *child = &machine->tree.children[i];

        if (!child->marked)
            continue;
        child->wanted = child->grouped = child->over = false;
        child->held = child->stop = true;
    }
}

int host_supervisor_stop(struct host_machine *machine, uint32_t place, uint64_t now)
{
    if (host_machine_child(machine, place)->state == HOST_CHILD_CLOSED)
        return 0;
    hold(machine, place);
    host_settle(machine, now);
    return 0;
}

int host_supervisor_stop_by(struct host_machine *machine, uint32_t place, uint64_t deadline,
                            uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    int r = host_supervisor_stop(machine, place, now);

    if (!host_tree_is_down(child) && (child->kill_ns == 0 || deadline < child->kill_ns))
        child->kill_ns = deadline;
    host_settle(machine, now);
    return r;
}

/* r[impl supervise.restart.asked] */
int host_supervisor_restart(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    int r;

    if (host_tree_is_down(child))
        return host_supervisor_start(machine, place, now);
    r = check_above(machine, child);
    if (r < 0)
        return r;
    host_strategy_mark_dependants(&machine->tree, place);
    for (uint32_t i = 0; i < machine->tree.max; i++) {
        struct host_child *other = &machine->tree.children[i];

        if (!other->marked || (!other->wanted && i != place))
            continue;
        if (host_tree_is_down(other)) {
            other->due_ns = now;
            continue;
        }
        want(other, now);
        other->stop = other->grouped = true;
    }
    host_settle(machine, now);
    return 0;
}

/* A failed root runs again, for this one child. */
static void revive_root(struct host_machine *machine, const struct host_child *child, uint64_t now)
{
    struct host_child *root =
        child->parent == HOST_TREE_NONE ? NULL : host_machine_child(machine, child->parent);

    if (!root || root->parent != HOST_TREE_NONE || root->state != HOST_CHILD_FAILED)
        return;
    root->wanted = true;
    root->incarnation = ++machine->incarnations;
    host_budget_reset(&root->intensity);
    host_machine_move(machine, child->parent, HOST_CHILD_STARTING);
    host_machine_move(machine, child->parent, HOST_CHILD_ATTACHED);
    root->ready_ns = now;
}

int host_supervisor_reset(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    int r;

    if (child->state != HOST_CHILD_FAILED)
        return refuse(RAPAHUB_ESTATE, child, "it has not failed; there is nothing to reset");
    revive_root(machine, child, now);
    r = check_above(machine, child);
    if (r < 0)
        return r;
    host_budget_reset(&child->budget);
    host_backoff_reset(&child->backoff);
    host_machine_move(machine, place, HOST_CHILD_STOPPED);
    want(child, now);
    host_settle(machine, now);
    return 0;
}

/* r[impl supervise.closed] */
int host_supervisor_close(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);

    if (child->state == HOST_CHILD_CLOSED)
        return 0;
    hold(machine, place);
    child->closing = true;
    host_settle(machine, now);
    return 0;
}

int host_supervisor_call(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    const struct host_child *supervisor = above(machine, child);

    if (child->how.start != RAPAHUB_START_LAZY || !child->wanted || child->called ||
        !host_tree_is_down(child) || !supervisor || !runs(supervisor))
        return 0;
    host_failure_call(machine, place, now);
    host_settle(machine, now);
    return 0;
}

enum host_outlook host_supervisor_outlook(const struct host_machine *machine, uint32_t place)
{
    const struct host_child *child = host_machine_child(machine, place);
    const struct host_child *supervisor = above(machine, child);

    if (!child->wanted || child->stop || child->closing || !supervisor || !runs(supervisor))
        return HOST_OUTLOOK_NONE;
    return child->how.start == RAPAHUB_START_LAZY && !child->called ? HOST_OUTLOOK_CALL
                                                                    : HOST_OUTLOOK_STARTS;
}

/* ---- events of a life ---- */

/* NULL: the event is of another life, or of a child that was not told to start. */
static struct host_child *present(struct host_machine *machine, uint32_t place,
                                  uint64_t incarnation)
{
    struct host_child *child = host_machine_child(machine, place);

    if (child->incarnation == incarnation && !child->is_supervisor && !host_tree_is_down(child))
        return child;
    rapahub_fail(RAPAHUB_ESTALE, "supervise.incarnation", "%s: this life has ended", child->name);
    return NULL;
}

int host_supervisor_attached(struct host_machine *machine, uint32_t place, uint64_t incarnation)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    if (child->state == HOST_CHILD_STARTING)
        host_machine_move(machine, place, HOST_CHILD_ATTACHED);
    return 0;
}

int host_supervisor_ready(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                          uint64_t now)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    if (child->state != HOST_CHILD_ATTACHED && child->state != HOST_CHILD_DEGRADED)
        return 0;
    if (child->state == HOST_CHILD_ATTACHED)
        child->ready_ns = now;
    child->trial = false;
    host_machine_move(machine, place, HOST_CHILD_READY);
    host_settle(machine, now);
    return 0;
}

int host_supervisor_replaced(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                             uint64_t now, uint64_t *out)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    if (!host_tree_is_up(child) || child->stop)
        return rapahub_fail(RAPAHUB_ESTATE, "supervise.upgrade.child", "%s does not serve now",
                            child->name);
    child->incarnation = ++machine->incarnations;
    child->ready_ns = now;
    *out = child->incarnation;
    return 0;
}

int host_supervisor_degraded(struct host_machine *machine, uint32_t place, uint64_t incarnation)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    if (child->state == HOST_CHILD_READY)
        host_machine_move(machine, place, HOST_CHILD_DEGRADED);
    return 0;
}

int host_supervisor_leaving(struct host_machine *machine, uint32_t place, uint64_t incarnation)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    if (child->state != HOST_CHILD_STOPPING)
        host_machine_move(machine, place, HOST_CHILD_STOPPING);
    return 0;
}

int host_supervisor_exited(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                           const struct host_ending *ending, uint64_t now)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    child->ended = ending->class;
    (void)host_exits_judge(&child->rules, ending->exit, &child->ended);
    host_machine_move(machine, place, HOST_CHILD_EXITED);
    host_failure_decide(machine, place, ending, now);
    host_settle(machine, now);
    return 0;
}

int host_supervisor_deferred(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                             uint64_t due, uint64_t now)
{
    struct host_child *child = present(machine, place, incarnation);

    if (!child)
        return RAPAHUB_ESTALE;
    child->ended = RAPAHUB_EXIT_SPAWN;
    child->due_ns = due;
    child->called = true; /* it was called for this start */
    host_machine_move(machine, place, HOST_CHILD_EXITED);
    host_failure_rest(machine, place);
    host_settle(machine, now);
    return 0;
}

/* ---- time ---- */

void host_supervisor_tick(struct host_machine *machine, uint64_t now)
{
    host_settle(machine, now);
}

uint64_t host_supervisor_due(struct host_machine *machine, uint64_t now)
{
    return host_settle_due(machine, now);
}
