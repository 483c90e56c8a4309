/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/settle.h"

#include "host/supervise/failure.h"
#include "hub/base/clock.h"

#define EACH(machine, i)                               \
    for (uint32_t i = 0; i < (machine)->tree.max; i++) \
        if ((machine)->tree.children[i].number != 0)

/* ---- down ---- */

static bool waits_to_stop(const struct host_machine *machine, uint32_t place)
{
    HOST_TREE_EACH_CHILD(&machine->tree, host_machine_child(machine, place)->parent, i)
    {
        const struct host_child *other = host_machine_child(machine, i);

        if (other->stop && !host_tree_is_down(other) && host_tree_before(&machine->tree, place, i))
            return true;
    }
    return false;
}

static void tell_to_stop(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);

    child->asked = true;
    if (child->is_supervisor)
        child->kill_ns = child->stop_ns ? now + child->stop_ns : 0;
    if (child->state != HOST_CHILD_STOPPING)
        host_machine_move(machine, place, HOST_CHILD_STOPPING);
    if (child->is_supervisor)
        host_failure_bring_down(machine, place);
    else
        host_machine_order(machine, HOST_DECISION_STOP, place);
}

/* Children stop in the reverse order of their start. r[impl supervise.stop.order] */
static bool stop_some(struct host_machine *machine, uint64_t now)
{
    bool some = false;

    EACH(machine, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        if (!child->stop || child->asked)
            continue;
        if (host_tree_is_down(child))
            host_failure_rest(machine, i);
        else if (waits_to_stop(machine, i))
            continue;
        else
            tell_to_stop(machine, i, now);
        some = true;
    }
    return some;
}

static bool is_empty(const struct host_machine *machine, uint32_t supervisor)
{
    HOST_TREE_EACH_CHILD(&machine->tree, supervisor, i)
    {
        const struct host_child *child = host_machine_child(machine, i);

        if (child->stop || !host_tree_is_down(child))
            return false;
    }
    return true;
}

static void end_supervisor(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);
    const struct host_ending ending = {.class = child->fall_class};
    bool fails = child->fall == HOST_FALL_PARK ||
                 (child->parent == HOST_TREE_NONE && child->fall == HOST_FALL_ESCALATE);

    child->ended = child->fall == HOST_FALL_NONE ? RAPAHUB_EXIT_CLEAN : child->fall_class;
    host_machine_move(machine, place, HOST_CHILD_EXITED);
    if (child->asked || !child->wanted) {
        host_failure_rest(machine, place);
    } else if (fails || child->parent == HOST_TREE_NONE) {
        child->wanted = false;
        child->failing = fails;
        host_failure_rest(machine, place);
    } else {
        host_failure_decide(machine, place, &ending, now);
    }
}

static bool end_some(struct host_machine *machine, uint64_t now)
{
    bool some = false;

    EACH(machine, i)
    {
        const struct host_child *child = host_machine_child(machine, i);

        if (!child->is_supervisor || child->state != HOST_CHILD_STOPPING || !is_empty(machine, i))
            continue;
        end_supervisor(machine, i, now);
        some = true;
    }
    return some;
}

/* ---- deadlines ---- */

static bool is_below(const struct host_machine *machine, uint32_t place, uint32_t above)
{
    while (place != HOST_TREE_NONE && place != above)
        place = host_machine_child(machine, place)->parent;
    return place == above;
}

/* Kills everything left below, once, including children whose turn to stop had not come: they must
 * not start again meanwhile. r[impl supervise.stop.deadline] */
static void kill_below(struct host_machine *machine, uint32_t above)
{
    EACH(machine, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        if (i == above || !is_below(machine, i, above))
            continue;
        child->wanted = child->grouped = false;
        child->stop = true;
        if (host_tree_is_down(child))
            continue;
        child->asked = true;
        child->kill_ns = 0;
        if (child->state != HOST_CHILD_STOPPING)
            host_machine_move(machine, i, HOST_CHILD_STOPPING);
        if (!child->is_supervisor)
            host_machine_order(machine, HOST_DECISION_KILL, i);
    }
}

static void kill_late(struct host_machine *machine, uint64_t now)
{
    EACH(machine, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        if (child->kill_ns == 0 || now < child->kill_ns)
            continue;
        child->kill_ns = 0;
        kill_below(machine, i);
    }
}

/* ---- up ---- */

static bool is_waiting(const struct host_child *child)
{
    return child->wanted && !child->stop && !child->closing &&
           (child->state == HOST_CHILD_STOPPED || child->state == HOST_CHILD_BACKOFF);
}

static bool is_uncalled(const struct host_child *child)
{
    return child->how.start == RAPAHUB_START_LAZY && !child->is_supervisor && !child->called;
}

static bool is_due(const struct host_child *child, uint64_t now)
{
    return is_waiting(child) && child->due_ns <= now && !is_uncalled(child);
}

static const struct host_child *named(const struct host_machine *machine, uint32_t parent,
                                      const char *name)
{
    uint32_t place = host_tree_named(&machine->tree, parent, name);

    return place == HOST_TREE_NONE ? NULL : host_machine_child(machine, place);
}

/* Says whether the children that it requires will be there. */
static bool has_what_it_needs(const struct host_machine *machine, const struct host_child *child)
{
    for (uint32_t i = 0; i < child->dependencies_count; i++) {
        const struct host_dependency *on = &child->dependencies[i];
        const struct host_child *other = named(machine, child->parent, on->on);

        if (on->kind != RAPAHUB_REQUIRES && on->kind != RAPAHUB_PART_OF)
            continue;
        if (!other || other->stop || !(host_tree_is_up(other) || other->coming))
            return false;
    }
    return true;
}

static void mark_coming(struct host_machine *machine, uint64_t now)
{
    bool more = true;

    EACH(machine, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        child->coming = child->state == HOST_CHILD_STARTING || child->state == HOST_CHILD_ATTACHED;
    }
    while (more) {
        more = false;
        EACH(machine, i)
        {
            struct host_child *child = host_machine_child(machine, i);

            if (child->coming || !is_due(child, now) || !has_what_it_needs(machine, child))
                continue;
            child->coming = more = true;
        }
    }
}

static bool is_running(const struct host_child *child)
{
    return child->state == HOST_CHILD_STARTING || child->state == HOST_CHILD_ATTACHED ||
           host_tree_is_up(child);
}

static bool is_held_up_by(const struct host_machine *machine, const struct host_child *child,
                          const struct host_dependency *on)
{
    const struct host_child *other = named(machine, child->parent, on->on);

    switch (on->kind) {
    case RAPAHUB_REQUIRES:
        return !other || other->stop || !host_tree_is_up(other);
    case RAPAHUB_PART_OF:
        return !other || other->stop || !is_running(other);
    default:
        return other && other->coming;
    }
}

/* Says whether `other` will be started, and so comes first. */
static bool goes_first(const struct host_child *other)
{
    return other->wanted && !host_tree_is_up(other) && !is_uncalled(other);
}

/* r[impl supervise.order] */
static bool is_its_turn(const struct host_machine *machine, uint32_t place)
{
    const struct host_child *child = host_machine_child(machine, place);

    if (child->parent == HOST_TREE_NONE)
        return true;
    for (uint32_t i = 0; i < child->dependencies_count; i++)
        if (is_held_up_by(machine, child, &child->dependencies[i]))
            return false;
    if (!host_tree_is_linear(&machine->tree, child->parent))
        return true;
    HOST_TREE_EACH_CHILD(&machine->tree, child->parent, i)
    if (host_machine_child(machine, i)->number < child->number &&
        goes_first(host_machine_child(machine, i)))
        return false;
    return true;
}

static bool is_group_down(const struct host_machine *machine, const struct host_child *child)
{
    if (child->grouped)
        HOST_TREE_EACH_CHILD(&machine->tree, child->parent, i)
    if (host_machine_child(machine, i)->grouped && host_machine_child(machine, i)->stop)
        return false;
    return true;
}

static bool may_start(const struct host_machine *machine, uint32_t place, uint64_t now)
{
    const struct host_child *child = host_machine_child(machine, place);
    const struct host_child *above =
        child->parent == HOST_TREE_NONE ? NULL : host_machine_child(machine, child->parent);

    return is_due(child, now) && (!above || (!above->stop && is_running(above))) &&
           is_group_down(machine, child) && is_its_turn(machine, place);
}

/* Returns the child that has been due for longest; among equals, the one that was added first. */
static uint32_t first_to_start(struct host_machine *machine, uint64_t now)
{
    uint32_t best = HOST_TREE_NONE;

    mark_coming(machine, now);
    EACH(machine, i)
    {
        const struct host_child *child = host_machine_child(machine, i), *first;

        if (!may_start(machine, i, now))
            continue;
        first = best == HOST_TREE_NONE ? child : host_machine_child(machine, best);
        if (child->due_ns < first->due_ns ||
            (child->due_ns == first->due_ns && child->number <= first->number))
            best = i;
    }
    return best;
}

static uint32_t count_starting(const struct host_machine *machine)
{
    uint32_t count = 0;

    EACH(machine, i)
    {
        const struct host_child *child = host_machine_child(machine, i);

        count += !child->is_supervisor &&
                 (child->state == HOST_CHILD_STARTING || child->state == HOST_CHILD_ATTACHED);
    }
    return count;
}

/* A supervisor that starts forgets the past of its children, but not which of them were stopped on
 * request. */
static void begin_children(struct host_machine *machine, uint32_t supervisor, uint64_t now)
{
    host_budget_reset(&host_machine_child(machine, supervisor)->intensity);
    HOST_TREE_EACH_CHILD(&machine->tree, supervisor, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        if (child->held)
            continue;
        if (child->state == HOST_CHILD_FAILED)
            host_machine_move(machine, i, HOST_CHILD_STOPPED);
        host_budget_reset(&child->budget);
        host_backoff_reset(&child->backoff);
        child->over = child->called = child->uncounted = false;
        child->wanted = child->how.start != RAPAHUB_START_MANUAL;
        child->due_ns = now;
    }
}

static void start(struct host_machine *machine, uint32_t place, uint64_t now)
{
    struct host_child *child = host_machine_child(machine, place);

    child->incarnation = ++machine->incarnations;
    child->called = child->grouped = false;
    host_machine_move(machine, place, HOST_CHILD_STARTING);
    if (child->is_supervisor) {
        host_machine_move(machine, place, HOST_CHILD_ATTACHED);
        begin_children(machine, place, now);
    } else {
        host_pace_take(&machine->pace, now);
        host_machine_order(machine, HOST_DECISION_START, place);
    }
}

static bool may_start_now(struct host_machine *machine, uint32_t place, uint64_t now)
{
    return host_machine_child(machine, place)->is_supervisor ||
           host_pace_allows(&machine->pace, count_starting(machine), now);
}

static bool start_some(struct host_machine *machine, uint64_t now)
{
    uint32_t place = first_to_start(machine, now);

    if (place == HOST_TREE_NONE || !may_start_now(machine, place, now))
        return false;
    start(machine, place, now);
    return true;
}

/* A child that waits for a lazy one, or for one that was never started, calls it. */
static bool call_needed(struct host_machine *machine, const struct host_child *child, uint64_t now)
{
    bool some = false;

    for (uint32_t i = 0; i < child->dependencies_count; i++) {
        uint32_t place = host_tree_named(&machine->tree, child->parent, child->dependencies[i].on);
        struct host_child *other;

        if (child->dependencies[i].kind != RAPAHUB_REQUIRES || place == HOST_TREE_NONE)
            continue;
        other = host_machine_child(machine, place);
        if (other->state == HOST_CHILD_STOPPED && !other->wanted && !other->held && !other->over &&
            !other->stop) {
            other->wanted = some = true;
            other->due_ns = now;
        }
        if (is_waiting(other) && is_uncalled(other)) {
            host_failure_call(machine, place, now);
            some = true;
        }
    }
    return some;
}

/* r[impl supervise.requires] */
static bool call_some(struct host_machine *machine, uint64_t now)
{
    bool some = false;

    EACH(machine, i)
    {
        const struct host_child *child = host_machine_child(machine, i);

        if (child->dependencies_count > 0 && is_due(child, now) &&
            is_running(host_machine_child(machine, child->parent)))
            some = call_needed(machine, child, now) || some;
    }
    return some;
}

/* A child that waits in vain for one that does not come does not delay its supervisor. */
static bool is_complete(const struct host_machine *machine, uint32_t supervisor, uint64_t now)
{
    HOST_TREE_EACH_CHILD(&machine->tree, supervisor, i)
    {
        const struct host_child *child = host_machine_child(machine, i);

        if (child->wanted && !host_tree_is_up(child) && !is_uncalled(child) &&
            (child->coming || !is_due(child, now)))
            return false;
    }
    return true;
}

static bool ready_some(struct host_machine *machine, uint64_t now)
{
    bool some = false;

    mark_coming(machine, now);
    EACH(machine, i)
    {
        struct host_child *child = host_machine_child(machine, i);

        if (!child->is_supervisor || child->state != HOST_CHILD_ATTACHED || child->stop ||
            !is_complete(machine, i, now))
            continue;
        child->ready_ns = now;
        host_machine_move(machine, i, HOST_CHILD_READY);
        some = true;
    }
    return some;
}

/* ---- all steps ---- */

/* Stops and readiness are settled from the leaves up before other children get their turn. */
void host_settle(struct host_machine *machine, uint64_t now)
{
    bool more = true;

    kill_late(machine, now);
    while (more) {
        more = false;
        while (stop_some(machine, now) || end_some(machine, now) || call_some(machine, now) ||
               ready_some(machine, now))
            more = true;
        more = start_some(machine, now) || more;
    }
}

uint64_t host_settle_due(struct host_machine *machine, uint64_t now)
{
    uint64_t due = HUB_NEVER;

    EACH(machine, i)
    {
        const struct host_child *child = host_machine_child(machine, i);

        if (child->kill_ns != 0 && child->kill_ns < due)
            due = child->kill_ns;
        if (is_waiting(child) && !is_uncalled(child) && child->due_ns > now && child->due_ns < due)
            due = child->due_ns;
    }
    if (first_to_start(machine, now) != HOST_TREE_NONE && host_pace_due(&machine->pace) > now &&
        host_pace_due(&machine->pace) < due)
        due = host_pace_due(&machine->pace);
    return due;
}
