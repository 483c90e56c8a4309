/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "tests/simulation/rules.h"

const struct world_figures *world_figures(void)
{
    return rules_figures();
}

static void carry_out(struct world *world)
{
    struct host_decision decision;

    while (host_machine_next(&world->machine, &decision))
        rules_decided(world, &decision);
    world->guilty = HOST_TREE_NONE;
    world->escalated = false;
    rules_figures()->events++;
}

/* ---- events ---- */

static void begin_to_serve(struct world *world, uint32_t place)
{
    struct actor *actor = &world->actors[place];

    actor->ready = true;
    (void)host_supervisor_attached(&world->machine, place, actor->incarnation);
    (void)host_supervisor_ready(&world->machine, place, actor->incarnation, world->now);
    carry_out(world);
}

static struct hub_exit draw_exit(struct world *world, enum rapahub_exit_class *class)
{
    static const struct hub_exit exits[] = {{1, 0}, {1, 3}, {1, 125}, {2, 9}, {3, 11}, {2, 24}};
    struct hub_exit exit = exits[rules_pick(world, sizeof exits / sizeof *exits)];

    *class = host_exits_class(&exit, exit.code == 2 && rules_chance(world, 50) ? HOST_CAUSE_WATCHDOG
                                                                               : HOST_CAUSE_NONE);
    return exit;
}

/* A guest that dies while it is asked to go has not failed. */
static void die(struct world *world, uint32_t place)
{
    struct actor *actor = &world->actors[place];
    const struct host_child *child = rules_child(world, place);
    enum rapahub_exit_class class;
    struct hub_exit exit = draw_exit(world, &class);
    struct host_ending ending = {.class = class, .exit = &exit};
    uint64_t incarnation = actor->incarnation;

    actor->incarnation = 0;
    actor->ready = false;
    if (!actor->asked && child->wanted) {
        rules_figures()->failures++;
        actor->failed = true;
        actor->failures[actor->failures_count++ % FAILURES] = world->now;
        world->guilty = place;
    }
    if (host_supervisor_exited(&world->machine, place, incarnation, &ending, world->now) < 0)
        rules_broke(world, "stale: the end of %s is not taken", child->name);
    actor->not_before_ns = child->state == HOST_CHILD_BACKOFF ? child->due_ns : 0;
    if (actor->not_before_ns > world->now + DELAY_MAX)
        rules_broke(world, "late: %s waits too long", child->name);
    carry_out(world);
}

static void tell_stale(struct world *world, uint32_t place)
{
    const struct host_ending ending = {.class = RAPAHUB_EXIT_LOST};
    uint64_t wrong = world->actors[place].last + 1 + rules_pick(world, 3);

    if (rules_child(world, place)->incarnation == wrong)
        return;
    if (host_supervisor_exited(&world->machine, place, wrong, &ending, world->now) !=
            RAPAHUB_ESTALE ||
        host_supervisor_ready(&world->machine, place, wrong, world->now) != RAPAHUB_ESTALE ||
        world->machine.count != 0)
        rules_broke(world, "stale: %s hears of another life", rules_child(world, place)->name);
}

static void operate(struct world *world, uint32_t place)
{
    struct host_machine *machine = &world->machine;

    for (uint32_t i = 0; i < PLACES; i++) {
        world->actors[i].freed = true;
        world->actors[i].failures_count = 0;
    }
    switch (rules_pick(world, 12)) {
    case 0:
        (void)host_supervisor_stop(machine, place, world->now);
        break;
    case 1:
        if (rules_chance(world, 30))
            (void)host_supervisor_close(machine, place, world->now);
        break;
    case 2:
    case 3:
        (void)host_supervisor_restart(machine, place, world->now);
        break;
    case 4:
    case 5:
        (void)host_supervisor_reset(machine, place, world->now);
        break;
    default:
        (void)host_supervisor_start(machine, place, world->now);
    }
    carry_out(world);
}

static void pass_time(struct world *world)
{
    uint64_t due = host_supervisor_due(&world->machine, world->now);

    if (due != HUB_NEVER && rules_chance(world, 60))
        world->now = due;
    else
        world->now += rules_pick(world, 300 * HUB_MILLISECOND);
    host_supervisor_tick(&world->machine, world->now);
    carry_out(world);
}

static void change_mind(struct world *world, uint32_t place)
{
    uint64_t incarnation = world->actors[place].incarnation;

    if (rules_chance(world, 50))
        (void)host_supervisor_degraded(&world->machine, place, incarnation);
    else
        (void)host_supervisor_leaving(&world->machine, place, incarnation);
    if (rules_child(world, place)->state == HOST_CHILD_DEGRADED)
        (void)host_supervisor_ready(&world->machine, place, incarnation, world->now);
    carry_out(world);
}

static void happen(struct world *world)
{
    uint32_t place = (uint32_t)rules_pick(world, world->machine.tree.numbers);
    const struct host_child *child = rules_child(world, place);
    struct actor *actor = &world->actors[place];

    if (child->number == 0 || rules_chance(world, 12))
        pass_time(world);
    else if (!child->is_supervisor && rules_lives(actor) &&
             (actor->asked || rules_chance(world, 25)))
        die(world, place);
    else if (!child->is_supervisor && rules_lives(actor) && !actor->ready)
        begin_to_serve(world, place);
    else if (!child->is_supervisor && rules_lives(actor) && rules_chance(world, 20))
        change_mind(world, place);
    else if (rules_chance(world, 6) && place != world->root)
        operate(world, place);
    else if (!child->is_supervisor && rules_chance(world, 20))
        tell_stale(world, place);
    else
        (void)host_supervisor_call(&world->machine, place, world->now);
    carry_out(world);
}

/* ---- a tree ---- */

static struct rapahub_supervision draw_how(struct world *world, bool significant)
{
    static const enum rapahub_exhausted policies[] = {
        RAPAHUB_EXHAUSTED_PARK, RAPAHUB_EXHAUSTED_ESCALATE, RAPAHUB_EXHAUSTED_SLOW_RETRY};
    struct rapahub_supervision how = {
        .restart = rules_chance(world, 60)
                       ? RAPAHUB_RESTART_PERMANENT
                       : (enum rapahub_restart)rules_pick(world, RAPAHUB_RESTART_MASK),
        .start = rules_chance(world, 75) ? RAPAHUB_START_EAGER
                                         : (enum rapahub_start)(1 + rules_pick(world, 2)),
        .restarts_max = 1 + (int32_t)rules_pick(world, 6),
        .period_ns = (1 + rules_pick(world, 20)) * HUB_SECOND,
        .backoff_initial_ns = 1 + rules_pick(world, 40 * HUB_MILLISECOND),
        .backoff_max_ns = DELAY_MAX,
        .jitter = (enum rapahub_jitter)rules_pick(world, RAPAHUB_JITTER_ADDITIVE + 1),
        .on_exhausted = policies[rules_pick(world, 3)],
    };

    how.significant =
        significant && how.restart != RAPAHUB_RESTART_PERMANENT && rules_chance(world, 30);
    return how;
}

/* Dependencies on any name, also of one that comes later: circles are refused, and then it has
 * none. */
static void add_child(struct world *world, uint32_t parent, unsigned index, unsigned count)
{
    const struct host_child *above = rules_child(world, parent);
    bool shuts = above->group.auto_shutdown != RAPAHUB_AUTO_SHUTDOWN_NEVER;
    struct rapahub_supervision how = draw_how(world, shuts);
    struct rapahub_dependency list[4] = {{0}};
    char name[32], names[3][32];
    struct host_tree_plan plan = {.name = name, .parent = parent, .how = &how};
    uint32_t place, some = (uint32_t)rules_pick(world, 3);

    snprintf(name, sizeof name, "c%u-%u", parent, index);
    for (uint32_t i = 0; i < some; i++) {
        snprintf(names[i], sizeof names[i], "c%u-%u", parent, (unsigned)rules_pick(world, count));
        list[i].on = names[i];
        list[i].kind = (enum rapahub_dependency_kind)rules_pick(world, RAPAHUB_PART_OF + 1);
    }
    if (above->group.strategy != RAPAHUB_SIMPLE && above->group.children_max == 1000)
        how.dependencies = list;
    if (host_supervisor_add(&world->machine, &plan, world->now, &place) < 0) {
        how.dependencies = NULL;
        if (host_supervisor_add(&world->machine, &plan, world->now, &place) < 0)
            rules_broke(world, "set-up: %s: %s", name, rapahub_last_error()->text);
    }
    carry_out(world);
}

static uint32_t add_supervisor(struct world *world, uint32_t parent)
{
    struct rapahub_supervision how = draw_how(world, false);
    struct rapahub_supervisor_options group = {
        .strategy = (enum rapahub_strategy)rules_pick(world, RAPAHUB_SIMPLE + 1),
        .auto_shutdown = (enum rapahub_auto_shutdown)rules_pick(world, 3),
        .restarts_max = (int32_t)rules_pick(world, 8),
        .period_ns = (1 + rules_pick(world, 20)) * HUB_SECOND,
        .on_exhausted =
            rules_chance(world, 70) ? RAPAHUB_EXHAUSTED_ESCALATE : RAPAHUB_EXHAUSTED_PARK,
        .children_max = rules_chance(world, 50) ? 1000 : 1001, /* 1000: with dependencies */
        .supervision = &how,
    };
    char name[32];
    struct host_tree_plan plan = {.name = name, .parent = parent, .group = &group};
    uint32_t place = 0;

    how.start = RAPAHUB_START_EAGER;
    snprintf(name, sizeof name, "s%u", world->machine.tree.numbers);
    if (host_supervisor_add(&world->machine, &plan, world->now, &place) < 0)
        rules_broke(world, "set-up: %s: %s", name, rapahub_last_error()->text);
    carry_out(world);
    return place;
}

static void grow(struct world *world)
{
    uint32_t supervisors[5], count = 1 + (uint32_t)rules_pick(world, 4);

    supervisors[0] = world->root = add_supervisor(world, HOST_TREE_NONE);
    for (uint32_t i = 1; i < count; i++)
        supervisors[i] = add_supervisor(world, supervisors[rules_pick(world, i)]);
    for (uint32_t i = 0; i < count; i++) {
        unsigned children = 1 + (unsigned)rules_pick(world, 6);

        for (unsigned n = 0; n < children && !world->broken; n++)
            add_child(world, supervisors[i], n, children);
    }
}

/* ---- the end ---- */

/* All guests do as asked, and none dies: until nothing happens any more. */
static bool settles(struct world *world, bool stubborn)
{
    for (unsigned n = 0; n < SETTLINGS && !world->broken; n++) {
        uint64_t due = host_supervisor_due(&world->machine, world->now);
        bool some = false;

        for (uint32_t i = 0; i < PLACES; i++) {
            struct actor *actor = &world->actors[i];

            if (rules_lives(actor) && !actor->ready && !actor->asked &&
                rules_child(world, i)->state != HOST_CHILD_STOPPING) {
                begin_to_serve(world, i);
                some = true;
            } else if (rules_lives(actor) &&
                       (actor->asked || rules_child(world, i)->state == HOST_CHILD_STOPPING) &&
                       (!stubborn || !actor->stubborn || actor->killed)) {
                die(world, i);
                some = true;
            }
        }
        if (!some && due == HUB_NEVER)
            return true;
        if (due != HUB_NEVER && !some)
            world->now = due > world->now ? due : world->now + 1;
        host_supervisor_tick(&world->machine, world->now);
        carry_out(world);
    }
    return false;
}

/* The child that it waits for will not come, because it is never started. */
static bool waits_in_vain(struct world *world, uint32_t place)
{
    const struct host_child *child = rules_child(world, place);

    for (uint32_t i = 0; i < child->dependencies_count; i++) {
        uint32_t on =
            host_tree_named(&world->machine.tree, child->parent, child->dependencies[i].on);

        if (on == HOST_TREE_NONE || !rules_serves(world, on))
            return true;
    }
    return false;
}

/* No child is between two states, and each wanted one serves or has a reason not to. */
static void check_rest(struct world *world)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct host_child *child = rules_child(world, i);
        const struct host_child *above;

        if (child->number == 0 || child->state == HOST_CHILD_CLOSED)
            continue;
        above = child->parent == HOST_TREE_NONE ? NULL : rules_child(world, child->parent);
        if (!host_tree_is_down(child) && !host_tree_is_up(child))
            rules_broke(world, "rest: %s is %s", child->name,
                        host_tree_states.of[child->state].name);
        if (!child->is_supervisor && !host_tree_is_down(child) != rules_lives(&world->actors[i]))
            rules_broke(world, "rest: %s has %s process", child->name,
                        rules_lives(&world->actors[i]) ? "a" : "no");
        if (above && host_tree_is_down(above) && !host_tree_is_down(child))
            rules_broke(world, "rest: %s outlives its supervisor", child->name);
        if (child->wanted && host_tree_is_down(child) && above && host_tree_is_up(above) &&
            (child->how.start != RAPAHUB_START_LAZY || child->is_supervisor || child->called) &&
            !waits_in_vain(world, i))
            rules_broke(world, "rest: %s is %s and waits for nothing", child->name,
                        host_tree_states.of[child->state].name);
    }
}

static void check_shutdown(struct world *world)
{
    (void)host_supervisor_stop_by(&world->machine, world->root, world->now + HUB_SECOND,
                                  world->now);
    carry_out(world);
    if (!settles(world, true))
        rules_broke(world, "deadline: its end does not come");
    for (uint32_t i = 0; i < PLACES; i++)
        if (rules_child(world, i)->number && !host_tree_is_down(rules_child(world, i)))
            rules_broke(world, "deadline: %s is left", rules_child(world, i)->name);
}

const char *world_live(uint64_t seed, unsigned steps)
{
    static struct world world;
    const struct host_machine_limits limits = {.children_max = PLACES,
                                               .starts_parallel_max = PARALLEL,
                                               .start_burst = BURST,
                                               .start_each_ns = EACH_NS,
                                               .seed = seed};

    world = (struct world){.seed = seed, .now = HUB_SECOND, .guilty = HOST_TREE_NONE};
    hub_random_init(&world.random, seed);
    if (host_machine_init(&world.machine, &limits) < 0)
        abort();
    rules_figures()->lives++;
    grow(&world);
    for (unsigned i = 0; i < steps && !world.broken; i++)
        happen(&world);
    if (!settles(&world, false))
        rules_broke(&world, "rest: it does not come to rest");
    check_rest(&world);
    check_shutdown(&world);
    host_machine_fini(&world.machine);
    return world.broken ? rules_report() : NULL;
}
