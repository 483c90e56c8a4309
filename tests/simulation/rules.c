/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char report[400];
static struct world_figures figures;

const char *rules_report(void)
{
    return report;
}

struct world_figures *rules_figures(void)
{
    return &figures;
}

void rules_broke(struct world *world, const char *format, ...)
{
    va_list list;
    int size;

    if (world->broken)
        return;
    world->broken = true;
    size =
        snprintf(report, sizeof report, "seed %llu, event %llu: ", (unsigned long long)world->seed,
                 (unsigned long long)figures.events);
    va_start(list, format);
    vsnprintf(report + size, sizeof report - (size_t)size, format, list);
    va_end(list);
}

uint64_t rules_pick(struct world *world, uint64_t below)
{
    return hub_random_below(&world->random, below);
}

bool rules_chance(struct world *world, unsigned percent)
{
    return rules_pick(world, 100) < percent;
}

struct host_child *rules_child(struct world *world, uint32_t place)
{
    return &world->machine.tree.children[place];
}

/* ---- the forbidden ---- */

bool rules_lives(const struct actor *actor)
{
    return actor->incarnation != 0;
}

/* A supervisor runs while it is not down; a guest while the world has a process of it. */
static bool runs(struct world *world, uint32_t place)
{
    return rules_child(world, place)->is_supervisor ? !host_tree_is_down(rules_child(world, place))
                                                    : rules_lives(&world->actors[place]);
}

bool rules_serves(struct world *world, uint32_t place)
{
    return rules_child(world, place)->is_supervisor
               ? host_tree_is_up(rules_child(world, place))
               : rules_lives(&world->actors[place]) && world->actors[place].ready;
}

static bool is_sibling(struct world *world, uint32_t a, uint32_t b)
{
    return a != b && rules_child(world, b)->number != 0 &&
           rules_child(world, b)->state != HOST_CHILD_CLOSED &&
           rules_child(world, a)->parent == rules_child(world, b)->parent;
}

/* Says whether `a` has this kind of dependency on `b`, found anew, by names. */
static bool depends(struct world *world, uint32_t a, uint32_t b, unsigned kinds)
{
    const struct host_child *child = rules_child(world, a);

    for (uint32_t i = 0; is_sibling(world, a, b) && i < child->dependencies_count; i++)
        if ((kinds >> child->dependencies[i].kind & 1) &&
            !strcmp(child->dependencies[i].on, rules_child(world, b)->name))
            return true;
    return false;
}

static bool has_dependencies(struct world *world, uint32_t parent)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (rules_child(world, i)->number && rules_child(world, i)->parent == parent &&
            rules_child(world, i)->dependencies_count > 0)
            return true;
    return false;
}

static bool is_linear(struct world *world, uint32_t place)
{
    uint32_t parent = rules_child(world, place)->parent;
    enum rapahub_strategy strategy = rules_child(world, parent)->group.strategy;

    return (strategy == RAPAHUB_ONE_FOR_ALL || strategy == RAPAHUB_REST_FOR_ONE) &&
           !rules_child(world, parent)->has_graph && !has_dependencies(world, parent);
}

#define NEEDS (1u << RAPAHUB_REQUIRES | 1u << RAPAHUB_PART_OF)

static void check_needs(struct world *world, uint32_t place)
{
    const struct host_child *child = rules_child(world, place);

    for (uint32_t i = 0; i < PLACES; i++) {
        if (depends(world, place, i, 1u << RAPAHUB_REQUIRES) && !rules_serves(world, i))
            rules_broke(world, "needs: %s starts without %s", child->name,
                        rules_child(world, i)->name);
        if (depends(world, place, i, 1u << RAPAHUB_PART_OF) && !runs(world, i))
            rules_broke(world, "needs: %s starts, part of %s", child->name,
                        rules_child(world, i)->name);
        if (is_sibling(world, place, i) && is_linear(world, place) &&
            rules_child(world, i)->number < child->number && rules_child(world, i)->wanted &&
            (rules_child(world, i)->called ||
             rules_child(world, i)->how.start != RAPAHUB_START_LAZY) &&
            !rules_serves(world, i))
            rules_broke(world, "linear: %s starts before %s", child->name,
                        rules_child(world, i)->name);
    }
}

/* The last failure and those before it within the period. */
static void check_budget(struct world *world, const struct actor *actor,
                         const struct host_child *child)
{
    uint64_t period = child->how.period_ns, last;
    uint32_t within = 0;

    if (!actor->failed || actor->freed || child->how.start == RAPAHUB_START_LAZY ||
        child->how.on_exhausted == RAPAHUB_EXHAUSTED_SLOW_RETRY || actor->failures_count == 0)
        return;
    last = actor->failures[(actor->failures_count - 1) % FAILURES];
    for (uint32_t i = 0; i < actor->failures_count && i < FAILURES; i++)
        within += period == RAPAHUB_FOREVER || last - actor->failures[i] < period;
    if (within > (child->how.restarts_max < 0 ? 0 : (uint32_t)child->how.restarts_max))
        rules_broke(world, "budget: %s starts again behind %u failures", child->name, within);
}

static void check_pace(struct world *world)
{
    uint32_t starting = 0;
    uint64_t before;

    for (uint32_t i = 0; i < PLACES; i++)
        starting += rules_lives(&world->actors[i]) && !world->actors[i].ready &&
                    !world->actors[i].asked && rules_child(world, i)->state != HOST_CHILD_STOPPING;
    if (starting > PARALLEL)
        rules_broke(world, "pace: %u start at once", starting);
    before = world->starts_ns[world->starts % (2 * BURST)];
    if (world->starts >= 2 * BURST && world->now - before < BURST * EACH_NS)
        rules_broke(world, "pace: %u starts too soon", 2 * BURST);
    world->starts_ns[world->starts++ % (2 * BURST)] = world->now;
}

static void on_start(struct world *world, const struct host_decision *decision)
{
    struct actor *actor = &world->actors[decision->place];
    const struct host_child *child = rules_child(world, decision->place);

    figures.starts++;
    if (actor->number != child->number) /* a child of its own in this place */
        *actor = (struct actor){.number = child->number};
    if (rules_lives(actor) || decision->incarnation <= actor->last)
        rules_broke(world, "once: %s starts with a process", child->name);
    if (child->closing || child->held ||
        (actor->failed && !actor->freed && child->how.restart == RAPAHUB_RESTART_TEMPORARY))
        rules_broke(world, "closed: %s starts", child->name);
    if (world->now < actor->not_before_ns && !actor->freed)
        rules_broke(world, "early: %s starts", child->name);
    check_budget(world, actor, child);
    check_needs(world, decision->place);
    actor->incarnation = actor->last = decision->incarnation;
    actor->ready = actor->asked = actor->killed = false;
    actor->stubborn = rules_chance(world, 20);
    actor->failed = actor->freed = false;
    check_pace(world);
}

static bool is_below(struct world *world, uint32_t place, uint32_t above)
{
    while (place != above && place != HOST_TREE_NONE)
        place = rules_child(world, place)->parent;
    return place == above;
}

/* Says whether the death of `guilty` may ask `place` to go, with no budget exceeded. */
static bool concerns(struct world *world, uint32_t guilty, uint32_t place)
{
    const struct host_child *dead = rules_child(world, guilty);
    enum rapahub_strategy strategy = rules_child(world, dead->parent)->group.strategy;

    if (strategy == RAPAHUB_ONE_FOR_ALL || has_dependencies(world, dead->parent))
        return true;
    for (uint32_t i = 0; i < PLACES; i++)
        if (is_sibling(world, guilty, i) && is_below(world, place, i))
            return strategy == RAPAHUB_REST_FOR_ONE && rules_child(world, i)->number > dead->number;
    return false;
}

static void on_stop(struct world *world, const struct host_decision *decision)
{
    struct actor *actor = &world->actors[decision->place];
    const struct host_child *child = rules_child(world, decision->place);
    bool kill = decision->kind == HOST_DECISION_KILL;

    *(kill ? &figures.kills : &figures.stops) += 1;
    if (!rules_lives(actor) || actor->incarnation != decision->incarnation)
        rules_broke(world, "alive: %s has no process to end", child->name);
    if (kill ? actor->killed : actor->asked)
        rules_broke(world, "deadline: %s is asked twice", child->name);
    actor->asked = true;
    actor->killed = actor->killed || kill;
    for (uint32_t i = 0; i < PLACES && !kill; i++)
        if (depends(world, i, decision->place, NEEDS) && runs(world, i))
            rules_broke(world, "reverse: %s goes before %s", child->name,
                        rules_child(world, i)->name);
    if (world->guilty != HOST_TREE_NONE && !world->escalated &&
        !concerns(world, world->guilty, decision->place))
        rules_broke(world, "untouched: %s goes with %s", child->name,
                    rules_child(world, world->guilty)->name);
}

/* A supervisor that starts again forgets what its children did. */
static void forget_children(struct world *world, uint32_t supervisor)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (rules_child(world, i)->number && rules_child(world, i)->parent == supervisor) {
            world->actors[i].freed = true;
            world->actors[i].failures_count = 0;
        }
}

static void on_moved(struct world *world, const struct host_decision *decision)
{
    const struct host_child *child = rules_child(world, decision->place);

    if (child->is_supervisor && decision->to == HOST_CHILD_STARTING)
        forget_children(world, decision->place);
    if (child->is_supervisor && decision->to == HOST_CHILD_STOPPING)
        world->escalated = true;
    if (decision->to == HOST_CHILD_FAILED)
        *(child->is_supervisor ? &figures.escalations : &figures.given_up) += 1;
}

void rules_decided(struct world *world, const struct host_decision *decision)
{
    if (decision->kind == HOST_DECISION_START)
        on_start(world, decision);
    else if (decision->kind == HOST_DECISION_MOVED)
        on_moved(world, decision);
    else
        on_stop(world, decision);
}
