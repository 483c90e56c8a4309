/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/failure.h"

#include "host/supervise/strategy.h"

/* The policies that apply after a failure that exceeds a budget. */
struct count {
    enum rapahub_exhausted child, supervisor; /* DEFAULT: the budget is not exceeded */
};

/* ---- rest ---- */

static enum host_child_state rest_of(const struct host_child *child)
{
    if (child->closing)
        return HOST_CHILD_CLOSED;
    if (child->failing && child->state != HOST_CHILD_STOPPED)
        return HOST_CHILD_FAILED;
    if (child->wanted && child->state == HOST_CHILD_STOPPED)
        return HOST_CHILD_STOPPED;
    return child->wanted ? HOST_CHILD_BACKOFF : HOST_CHILD_STOPPED;
}

/* When a supervisor is closed, its children are closed with it. */
static void close_children(struct host_machine *machine, uint32_t supervisor)
{
    HOST_TREE_EACH_CHILD(&machine->tree, supervisor, i)
    {
        host_machine_child(machine, i)->closing = true;
        host_failure_rest(machine, i);
    }
}

void host_failure_rest(struct host_machine *machine, uint32_t place)
{
    struct host_child *child = host_machine_child(machine, place);
    enum host_child_state to = rest_of(child);

    if (to == HOST_CHILD_CLOSED && child->is_supervisor)
        close_children(machine, place);
    child->stop = child->asked = child->failing = false;
    child->ready_ns = child->kill_ns = 0;
    child->fall = HOST_FALL_NONE;
    if (child->state != (uint32_t)to)
        host_machine_move(machine, place, to);
}

void host_failure_bring_down(struct host_machine *machine, uint32_t place)
{
    HOST_TREE_EACH_CHILD(&machine->tree, place, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        child->wanted = child->grouped = false;
        child->stop = true;
    }
}

/* ---- a supervisor stops by itself ---- */

/* A root that fails takes its children along: they become FAILED, and the host lives on.
 * r[impl supervise.exhausted] r[impl supervise.root] */
static void fall(struct host_machine *machine, uint32_t place, enum host_fall how,
                 enum rapahub_exit_class class)
{
    struct host_child *child = host_machine_child(machine, place);
    bool degrades = child->parent == HOST_TREE_NONE && how == HOST_FALL_ESCALATE;

    if (child->state == HOST_CHILD_STOPPING)
        return;
    child->fall = how;
    child->fall_class = class;
    host_machine_move(machine, place, HOST_CHILD_STOPPING);
    HOST_TREE_EACH_CHILD(&machine->tree, place, i)
    {
        struct host_child *below = host_machine_child(machine, i);

        below->failing = degrades && (below->wanted || below->state == HOST_CHILD_FAILED);
        if (below->failing && below->state != HOST_CHILD_FAILED)
            below->why = HOST_FAILED_ABOVE;
    }
    host_failure_bring_down(machine, place);
}

static void fail_supervisor(struct host_machine *machine, uint32_t place,
                            enum rapahub_exhausted policy, enum rapahub_exit_class class)
{
    fall(machine, place, policy == RAPAHUB_EXHAUSTED_PARK ? HOST_FALL_PARK : HOST_FALL_ESCALATE,
         class);
}

/* ---- no restart ---- */

/* Children that may not run without this one wait until it is there again. */
static void stop_dependants(struct host_machine *machine, uint32_t place)
{
    host_strategy_mark_dependants(&machine->tree, place);
    for (uint32_t i = 0; i < machine->tree.max; i++) {
        struct host_child *child = &machine->tree.children[i];

        if (child->marked && i != place && !host_tree_is_down(child))
            child->stop = true;
    }
}

/* r[impl supervise.significant] */
static void look_at_shutdown(struct host_machine *machine, const struct host_child *child)
{
    enum rapahub_auto_shutdown when;

    if (!child->how.significant || child->parent == HOST_TREE_NONE)
        return;
    when = host_machine_child(machine, child->parent)->group.auto_shutdown;
    if (when == RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT)
        HOST_TREE_EACH_CHILD(&machine->tree, child->parent, i)
        {
            const struct host_child *other = host_machine_child(machine, i);

            if (other != child && other->how.significant && other->wanted)
                return;
        }
    if (when != RAPAHUB_AUTO_SHUTDOWN_NEVER)
        fall(machine, child->parent, HOST_FALL_DONE, RAPAHUB_EXIT_CLEAN);
}

static void end(struct host_machine *machine, uint32_t place, bool fails)
{
    struct host_child *child = host_machine_child(machine, place);

    child->wanted = child->grouped = false;
    child->over = !fails;
    child->failing = fails;
    child->closing = child->closing || child->how.restart == RAPAHUB_RESTART_TEMPORARY;
    stop_dependants(machine, place);
    host_failure_rest(machine, place);
}

/* ---- restart ---- */

static enum rapahub_exhausted ask(struct host_machine *machine, uint32_t place,
                                  enum rapahub_exit_class class, enum rapahub_exhausted policy)
{
    const struct host_child *child = host_machine_child(machine, place);
    enum rapahub_exhausted otherwise =
        child->is_supervisor ? RAPAHUB_EXHAUSTED_ESCALATE : RAPAHUB_EXHAUSTED_PARK;

    if (policy != RAPAHUB_EXHAUSTED_CALLBACK)
        return policy;
    policy = machine->ask ? (enum rapahub_exhausted)machine->ask(machine->ask_user, place, class)
                          : otherwise;
    return policy == RAPAHUB_EXHAUSTED_PARK || policy == RAPAHUB_EXHAUSTED_ESCALATE ||
                   policy == RAPAHUB_EXHAUSTED_SLOW_RETRY
               ? policy
               : otherwise;
}

/* An event counts once, in both windows. r[impl supervise.once] */
static struct count count(struct host_machine *machine, uint32_t place,
                          enum rapahub_exit_class class, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    struct host_child *above = host_machine_child(machine, child->parent);
    struct count counted = {0};
    bool room = host_budget_spend(&child->budget, now);
    bool room_above = !above->limited || host_budget_spend(&above->intensity, now);

    if (!room)
        counted.child = ask(machine, place, class, child->how.on_exhausted);
    if (!room_above && (room || counted.child == RAPAHUB_EXHAUSTED_SLOW_RETRY))
        counted.supervisor = ask(machine, child->parent, class, above->group.on_exhausted);
    if (counted.supervisor == RAPAHUB_EXHAUSTED_SLOW_RETRY)
        counted.supervisor = RAPAHUB_EXHAUSTED_ESCALATE;
    return counted;
}

/* The rest of the group stops and starts again, after the same delay; unwanted children stay as
 * they are. Two groups of one supervisor become one. r[impl supervise.group] */
static void take_along(struct host_machine *machine, uint32_t place, uint64_t due)
{
    struct host_child *child = host_machine_child(machine, place);
    uint32_t others = 0;

    HOST_TREE_EACH_CHILD(&machine->tree, child->parent, i)
    if (host_machine_child(machine, i)->grouped && host_machine_child(machine, i)->due_ns > due)
        due = host_machine_child(machine, i)->due_ns;
    host_strategy_mark(&machine->tree, place);
    HOST_TREE_EACH_CHILD(&machine->tree, child->parent, i)
    {
        struct host_child *other = host_machine_child(machine, i);

        if (!other->marked || other == child || !other->wanted)
            continue;
        others++;
        other->grouped = true;
        other->stop = !host_tree_is_down(other);
        if (other->how.restart == RAPAHUB_RESTART_TEMPORARY) {
            other->wanted = false;
            other->closing = other->stop = true;
        }
    }
    child->grouped = child->grouped || others > 0;
    child->due_ns = due;
    HOST_TREE_EACH_CHILD(&machine->tree, child->parent, i)
    if (host_machine_child(machine, i)->grouped && host_machine_child(machine, i)->due_ns < due)
        host_machine_child(machine, i)->due_ns = due;
}

/* Carries out the policy after a budget was exceeded. True: there is nothing more to do. */
static bool is_exhausted(struct host_machine *machine, uint32_t place, struct count counted,
                         enum rapahub_exit_class class)
{
    struct host_child *child = host_machine_child(machine, place);
    uint32_t parent = child->parent;

    if (counted.child == RAPAHUB_EXHAUSTED_PARK) {
        child->why = HOST_FAILED_BUDGET;
        end(machine, place, true);
        return true;
    }
    if (counted.child == RAPAHUB_EXHAUSTED_ESCALATE)
        fail_supervisor(
            machine, parent,
            ask(machine, parent, class, host_machine_child(machine, parent)->group.on_exhausted),
            class);
    else if (counted.supervisor != RAPAHUB_EXHAUSTED_DEFAULT)
        fail_supervisor(machine, parent, counted.supervisor, class);
    else
        return false;
    host_failure_rest(machine, place);
    return true;
}

static void restart(struct host_machine *machine, uint32_t place, enum rapahub_exit_class class,
                    uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    uint64_t ready = child->ready_ns ? now - child->ready_ns : 0;
    uint64_t delay = host_backoff_next(&child->backoff, ready);
    bool lazy = child->how.start == RAPAHUB_START_LAZY && !child->is_supervisor;
    struct count counted = {0};

    child->uncounted = lazy;
    child->called = false;
    child->fall_class = class;
    if (!lazy)
        counted = count(machine, place, class, now);
    if (counted.child == RAPAHUB_EXHAUSTED_SLOW_RETRY)
        delay = child->backoff.max_ns;
    if (is_exhausted(machine, place, counted, class))
        return;
    take_along(machine, place, delay > UINT64_MAX - now ? UINT64_MAX : now + delay);
    host_failure_rest(machine, place);
}

void host_failure_call(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    struct count counted;

    child->called = true;
    if (!child->uncounted)
        return;
    child->uncounted = false;
    counted = count(machine, place, child->fall_class, now);
    if (counted.child == RAPAHUB_EXHAUSTED_SLOW_RETRY &&
        child->due_ns < now + child->backoff.max_ns)
        child->due_ns = now + child->backoff.max_ns;
    is_exhausted(machine, place, counted, child->fall_class);
}

/* ---- decide ---- */

/* r[impl supervise.decide] r[impl supervise.trial] */
void host_failure_decide(struct host_machine *machine, uint32_t place,
                         const struct host_ending *ending, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    enum rapahub_exit_class class = ending->class;
    enum host_exit_verdict verdict;

    if (child->trial) {
        child->wanted = false;
        child->closing = true;
    }
    if (child->asked || child->parent == HOST_TREE_NONE || !child->wanted) {
        host_failure_rest(machine, place);
        return;
    }
    verdict = host_exits_judge(&child->rules, ending->exit, &class);
    if (ending->barred)
        verdict = HOST_EXIT_PREVENTED;
    if (verdict == HOST_EXIT_RESTART) {
        restart(machine, place, class, now);
        return;
    }
    child->why = ending->barred              ? HOST_FAILED_BARRED
                 : class == RAPAHUB_EXIT_OOM ? HOST_FAILED_OOM
                                             : HOST_FAILED_STATUS;
    end(machine, place, verdict == HOST_EXIT_PREVENTED);
    look_at_shutdown(machine, child);
}
