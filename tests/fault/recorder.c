/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "host/process/spawn.h"
#include "host/supervise/supervisor.h"
#include "hub/base/check.h"
#include "hub/base/clock.h"

#define CHILDREN_MAX 16

struct child {
    char name[HOST_TREE_NAME_MAX + 1];
    struct rapahub_supervision how;
    struct rapahub_supervisor_options group;
    struct host_tree_plan plan;
    uint64_t added_ns, seed, died_ns;
};

struct death {
    uint32_t place;
    uint64_t now_ns;
    struct host_ending ending;
    struct hub_exit exit;
    uint32_t children; /* how many there were */
};

static struct {
    struct host_machine_limits limits;
    struct child children[CHILDREN_MAX];
    struct death deaths[RECORDER_STARTS];
    struct recorder_start starts[RECORDER_STARTS];
    uint32_t children_count;
    size_t deaths_count, starts_count;
    uint64_t now_ns, before_ns, armed_ns;
    unsigned spawns;
} record;

void recorder_begin(void)
{
    memset(&record, 0, sizeof record);
}

size_t recorder_starts(const struct recorder_start **list)
{
    *list = record.starts;
    return record.starts_count;
}

unsigned recorder_spawns(void)
{
    return record.spawns;
}

uint32_t recorder_place(const char *name)
{
    for (uint32_t i = 0; i < record.children_count; i++)
        if (strcmp(record.children[i].name, name) == 0)
            return i;
    return HOST_TREE_NONE;
}

uint64_t recorder_seed(uint32_t place)
{
    return record.children[place].seed;
}

/* An event due later is never due now. */
static void ask_at(uint64_t now_ns)
{
    CHECK(now_ns <= hub_clock_now());
    record.before_ns = record.now_ns;
    record.now_ns = now_ns;
}

/* ---- events reported by the host ---- */

int __real_host_machine_init(struct host_machine *machine,
                             const struct host_machine_limits *limits);
int __wrap_host_machine_init(struct host_machine *machine,
                             const struct host_machine_limits *limits);
int __wrap_host_machine_init(struct host_machine *machine, const struct host_machine_limits *limits)
{
    record.limits = *limits;
    return __real_host_machine_init(machine, limits);
}

int __real_host_supervisor_add(struct host_machine *machine, const struct host_tree_plan *plan,
                               uint64_t now_ns, uint32_t *out);
int __wrap_host_supervisor_add(struct host_machine *machine, const struct host_tree_plan *plan,
                               uint64_t now_ns, uint32_t *out);
int __wrap_host_supervisor_add(struct host_machine *machine, const struct host_tree_plan *plan,
                               uint64_t now_ns, uint32_t *out)
{
    struct child *child = &record.children[record.children_count];
    uint64_t seed = machine->seeds;
    int r;

    ask_at(now_ns);
    r = __real_host_supervisor_add(machine, plan, now_ns, out);
    if (r < 0)
        return r;
    CHECK(*out == record.children_count && record.children_count < CHILDREN_MAX - 1);
    *child = (struct child){.plan = *plan, .added_ns = now_ns, .seed = seed};
    snprintf(child->name, sizeof child->name, "%s", plan->name);
    child->plan.name = child->name;
    if (plan->how) {
        child->how = *plan->how;
        child->plan.how = &child->how;
    }
    if (plan->group) {
        child->group = *plan->group;
        child->plan.group = &child->group;
    }
    record.children_count++;
    return 0;
}

int __real_host_supervisor_exited(struct host_machine *machine, uint32_t place,
                                  uint64_t incarnation, const struct host_ending *ending,
                                  uint64_t now_ns);
int __wrap_host_supervisor_exited(struct host_machine *machine, uint32_t place,
                                  uint64_t incarnation, const struct host_ending *ending,
                                  uint64_t now_ns);
int __wrap_host_supervisor_exited(struct host_machine *machine, uint32_t place,
                                  uint64_t incarnation, const struct host_ending *ending,
                                  uint64_t now_ns)
{
    struct death *death = &record.deaths[record.deaths_count++];

    CHECK(record.deaths_count < RECORDER_STARTS);
    *death = (struct death){place, now_ns, *ending, {0}, record.children_count};
    if (ending->exit)
        death->exit = *ending->exit;
    record.children[place].died_ns = now_ns;
    record.armed_ns = 0;
    ask_at(now_ns);
    return __real_host_supervisor_exited(machine, place, incarnation, ending, now_ns);
}

void __real_host_supervisor_tick(struct host_machine *machine, uint64_t now_ns);
void __wrap_host_supervisor_tick(struct host_machine *machine, uint64_t now_ns);
void __wrap_host_supervisor_tick(struct host_machine *machine, uint64_t now_ns)
{
    ask_at(now_ns);
    __real_host_supervisor_tick(machine, now_ns);
}

void __real_host_loop_set(struct host_loop *loop, struct host_timer *timer, uint64_t due_ns);
void __wrap_host_loop_set(struct host_loop *loop, struct host_timer *timer, uint64_t due_ns);
void __wrap_host_loop_set(struct host_loop *loop, struct host_timer *timer, uint64_t due_ns)
{
    const struct rapahub_host *host =
        (const void *)((const char *)loop - offsetof(struct host_owner, loop));

    if (timer == &host->observe.supervision.supervise)
        record.armed_ns = due_ns;
    __real_host_loop_set(loop, timer, due_ns);
}

/* ---- decisions carried out ---- */

bool __real_host_machine_next(struct host_machine *machine, struct host_decision *out);
bool __wrap_host_machine_next(struct host_machine *machine, struct host_decision *out);
bool __wrap_host_machine_next(struct host_machine *machine, struct host_decision *out)
{
    if (!__real_host_machine_next(machine, out))
        return false;
    if (out->kind == HOST_DECISION_START) {
        CHECK(record.starts_count < RECORDER_STARTS);
        record.starts[record.starts_count++] =
            (struct recorder_start){out->place, record.now_ns, record.before_ns, record.armed_ns,
                                    record.children[out->place].died_ns};
    }
    return true;
}

int __real_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out);
int __wrap_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out);
int __wrap_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out)
{
    int r = __real_host_spawn(spawner, order, out);

    record.spawns += r == 0;
    return r;
}

/* ---- expected starts ---- */

struct replay {
    struct host_machine machine;
    uint64_t now_ns, died_ns[CHILDREN_MAX];
    uint32_t children;
    struct recorder_start *starts;
    size_t count;
};

static void drain(struct replay *replay)
{
    struct host_decision decision;

    while (__real_host_machine_next(&replay->machine, &decision)) {
        if (decision.kind != HOST_DECISION_START)
            continue;
        CHECK(replay->count < RECORDER_STARTS);
        replay->starts[replay->count++] = (struct recorder_start){
            .place = decision.place,
            .now_ns = replay->now_ns,
            .death_ns = replay->died_ns[decision.place],
        };
    }
}

/* Each time something is due up to then. */
static void pass_time(struct replay *replay, uint64_t until_ns)
{
    uint64_t due;

    while ((due = host_supervisor_due(&replay->machine, replay->now_ns)) <= until_ns) {
        replay->now_ns = due;
        __real_host_supervisor_tick(&replay->machine, due);
        drain(replay);
    }
    replay->now_ns = until_ns;
}

static void add_children(struct replay *replay, uint32_t count)
{
    for (; replay->children < count; replay->children++) {
        struct child *child = &record.children[replay->children];
        uint32_t place = HOST_TREE_NONE;
        int r;

        pass_time(replay, child->added_ns);
        r = __real_host_supervisor_add(&replay->machine, &child->plan, child->added_ns, &place);
        CHECK(r == 0 && place == replay->children);
        drain(replay);
    }
}

static void let_die(struct replay *replay, const struct death *death)
{
    struct host_ending ending = death->ending;
    int r;

    add_children(replay, death->children);
    pass_time(replay, death->now_ns);
    if (ending.exit)
        ending.exit = &death->exit;
    replay->died_ns[death->place] = death->now_ns;
    r = __real_host_supervisor_exited(
        &replay->machine, death->place,
        host_machine_child(&replay->machine, death->place)->incarnation, &ending, death->now_ns);
    CHECK(r == 0);
    drain(replay);
}

size_t recorder_replay(struct recorder_start **list)
{
    struct replay replay = {.starts = calloc(RECORDER_STARTS, sizeof *replay.starts)};

    CHECK(replay.starts && __real_host_machine_init(&replay.machine, &record.limits) == 0);
    for (size_t i = 0; i < record.deaths_count; i++)
        let_die(&replay, &record.deaths[i]);
    add_children(&replay, record.children_count);
    pass_time(&replay, record.now_ns);
    host_machine_fini(&replay.machine);
    *list = replay.starts;
    return replay.count;
}
