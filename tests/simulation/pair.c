/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/supervise/supervisor.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/simulation/model.h"

struct pair {
    uint64_t seed;
    struct hub_random random;
    struct model model;
    struct host_machine core;
    struct trace trace; /* the machine's */
    uint32_t places[NODES];
    int starts_seen;
};

static char report[400];
static uint64_t compared;

uint64_t pair_compared(void)
{
    return compared;
}

/* ---- the machine, in a world that does as it is told ---- */

static int node_of(const struct pair *pair, uint32_t place)
{
    for (int i = 0; i < pair->model.count; i++)
        if (pair->places[i] == place)
            return i;
    abort();
}

static void obey(struct pair *pair, const struct host_decision *decision)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};
    int node = node_of(pair, decision->place);

    if (decision->kind == HOST_DECISION_MOVED)
        return;
    model_note(&pair->trace, node, decision->kind == HOST_DECISION_START);
    if (decision->kind == HOST_DECISION_START && pair->starts_seen++ >= pair->model.fail_starts) {
        (void)host_supervisor_attached(&pair->core, decision->place, decision->incarnation);
        (void)host_supervisor_ready(&pair->core, decision->place, decision->incarnation,
                                    pair->model.now);
        return;
    }
    (void)host_supervisor_exited(&pair->core, decision->place, decision->incarnation, &ending,
                                 pair->model.now);
}

static void obey_all(struct pair *pair)
{
    struct host_decision decision;

    while (host_machine_next(&pair->core, &decision))
        obey(pair, &decision);
}

/* ---- both ---- */

static uint64_t pick(struct pair *pair, uint64_t below)
{
    return hub_random_below(&pair->random, below);
}

static struct node draw(struct pair *pair, int index)
{
    struct node node = {
        .parent = -1,
        .supervisor = index == 0 || (index < NODES / 2 && pick(pair, 4) == 0),
        .strategy = (enum rapahub_strategy)pick(pair, 4),
        .shuts = (enum rapahub_auto_shutdown)pick(pair, 3),
        .restart = pick(pair, 3) ? RAPAHUB_RESTART_PERMANENT
                                 : (enum rapahub_restart)pick(pair, RAPAHUB_RESTART_MASK),
        .max = 1 + (int)pick(pair, 20),
        .limit = (int)pick(pair, 30),
        .period = (1 + pick(pair, 30)) * HUB_SECOND,
        .policy = pick(pair, 2) ? RAPAHUB_EXHAUSTED_PARK : RAPAHUB_EXHAUSTED_ESCALATE,
        .group_policy = pick(pair, 4) ? RAPAHUB_EXHAUSTED_ESCALATE : RAPAHUB_EXHAUSTED_PARK};

    do
        node.parent = index == 0 ? -1 : (int)pick(pair, (uint64_t)index);
    while (index > 0 && !pair->model.nodes[node.parent].supervisor);
    if (node.limit == 0)
        node.limit =
            node.strategy == RAPAHUB_ONE_FOR_ONE || node.strategy == RAPAHUB_SIMPLE ? -1 : 10;
    if (index > 0 && node.restart != RAPAHUB_RESTART_PERMANENT && !node.supervisor &&
        pair->model.nodes[node.parent].shuts != RAPAHUB_AUTO_SHUTDOWN_NEVER)
        node.significant = pick(pair, 2) == 0;
    return node;
}

static void build(struct pair *pair, int index)
{
    const struct node *node = &pair->model.nodes[index];
    char name[16];
    struct rapahub_supervision how = {.restart = node->restart,
                                      .restarts_max = node->max,
                                      .period_ns = node->period,
                                      .backoff_initial_ns = RAPAHUB_NONE,
                                      .significant = node->significant,
                                      .on_exhausted = node->policy};
    struct rapahub_supervisor_options group = {.strategy = node->strategy,
                                               .auto_shutdown = node->shuts,
                                               .restarts_max = node->limit < 0 ? 0 : node->limit,
                                               .period_ns = node->period,
                                               .on_exhausted = node->group_policy,
                                               .supervision = &how};
    struct host_tree_plan plan = {.name = name,
                                  .parent = index ? pair->places[node->parent] : HOST_TREE_NONE,
                                  .how = &how,
                                  .group = node->supervisor ? &group : NULL};

    snprintf(name, sizeof name, "n%d", index);
    if (host_supervisor_add(&pair->core, &plan, pair->model.now, &pair->places[index]) < 0) {
        fprintf(stderr, "%s\n", rapahub_last_error()->text);
        abort();
    }
}

static enum fate fate_of(const struct host_child *child)
{
    switch (child->state) {
    case HOST_CHILD_CLOSED:
        return GONE;
    case HOST_CHILD_FAILED:
        return PARKED;
    case HOST_CHILD_STOPPED:
    case HOST_CHILD_BACKOFF:
        return DOWN;
    default:
        return UP;
    }
}

/* If two guests have a supervisor with an order, the later one goes first. */
static bool is_reverse(const struct pair *pair, int first, int second)
{
    int parent = pair->model.nodes[first].parent;

    return parent != pair->model.nodes[second].parent ||
           !model_is_ordered(&pair->model.nodes[parent]) || first > second;
}

static bool is_stop(char act)
{
    return act >= 'a';
}

static int by_act(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

/* Where there is no order, all go at once: each run of stops is sorted. False: it breaks an order.
 */
static bool normalize(const struct pair *pair, struct trace *trace)
{
    for (int i = 0, end; i < trace->count; i = end) {
        for (end = i + 1;
             end < trace->count && is_stop(trace->acts[i]) && is_stop(trace->acts[end]); end++)
            for (int before = i; before < end; before++)
                if (!is_reverse(pair, trace->acts[before] - 'a', trace->acts[end] - 'a'))
                    return false;
        qsort(trace->acts + i, (size_t)(end - i), 1, by_act);
    }
    return true;
}

static const char *compare(struct pair *pair, unsigned step)
{
    bool ordered = normalize(pair, &pair->model.trace) && normalize(pair, &pair->trace);

    compared += (uint64_t)pair->model.trace.count;
    if (!ordered || pair->model.trace.count != pair->trace.count ||
        memcmp(pair->model.trace.acts, pair->trace.acts, (size_t)pair->model.trace.count) != 0) {
        snprintf(report, sizeof report, "seed %llu, step %u: the model does %.*s, the machine %.*s",
                 (unsigned long long)pair->seed, step, pair->model.trace.count,
                 pair->model.trace.acts, pair->trace.count, pair->trace.acts);
        return report;
    }
    for (int i = 0; i < pair->model.count; i++) {
        enum fate fate = fate_of(&pair->core.tree.children[pair->places[i]]);

        if (fate == pair->model.memory[i].fate)
            continue;
        snprintf(report, sizeof report, "seed %llu, step %u: n%d is %d in the model, %d in fact",
                 (unsigned long long)pair->seed, step, i, pair->model.memory[i].fate, (int)fate);
        return report;
    }
    return NULL;
}

static int draw_victim(struct pair *pair)
{
    int start = (int)pick(pair, (uint64_t)pair->model.count);

    for (int n = 0; n < pair->model.count; n++) {
        int i = (start + n) % pair->model.count;

        if (!pair->model.nodes[i].supervisor && pair->model.memory[i].fate == UP)
            return i;
    }
    return -1;
}

static void kill_in_both(struct pair *pair, int victim)
{
    static const struct hub_exit exits[] = {{1, 0}, {1, 3}, {1, 125}, {2, 15}, {3, 11}, {2, 24}};
    struct hub_exit exit = exits[pick(pair, sizeof exits / sizeof *exits)];
    struct host_ending ending = {
        .class = host_exits_class(&exit, pick(pair, 3) ? HOST_CAUSE_NONE : HOST_CAUSE_WATCHDOG),
        .exit = &exit};
    uint32_t place = pair->places[victim];

    pair->model.fail_starts = pick(pair, 4) ? 0 : (int)pick(pair, 5);
    pair->starts_seen = 0;
    (void)host_supervisor_exited(&pair->core, place, pair->core.tree.children[place].incarnation,
                                 &ending, pair->model.now);
    obey_all(pair);
    pair->model.starts_seen = 0;
    model_fail(&pair->model, victim, ending.class, exit.code == 1 ? exit.status : 0);
    model_start_all(&pair->model);
}

/* Failed children are reset, the same in both. */
static void revive_in_both(struct pair *pair)
{
    pair->model.fail_starts = pair->starts_seen = pair->model.starts_seen = 0;
    for (int i = 0; i < pair->model.count; i++) {
        struct memory *memory = &pair->model.memory[i];
        int parent = pair->model.nodes[i].parent;

        if (memory->fate != PARKED || (parent >= 0 && pair->model.memory[parent].fate != UP))
            continue;
        (void)host_supervisor_reset(&pair->core, pair->places[i], pair->model.now);
        obey_all(pair);
        memory->fate = DOWN;
        memory->wanted = true;
        memory->failures_count = 0;
        model_start_all(&pair->model);
        return;
    }
}

static void begin(struct pair *pair, uint64_t seed)
{
    const struct host_machine_limits limits = {
        .children_max = NODES, .starts_parallel_max = 1, .seed = seed};

    int count;

    *pair = (struct pair){.seed = seed, .model.now = HUB_SECOND * 1000};
    hub_random_init(&pair->random, seed);
    if (host_machine_init(&pair->core, &limits) < 0)
        abort();
    count = 4 + (int)pick(pair, NODES - 4);
    for (int i = 0; i < count; i++) {
        pair->model.count = i + 1;
        pair->model.nodes[i] = draw(pair, i);
        build(pair, i);
        obey_all(pair);
        pair->model.memory[i].wanted = true;
        model_start_all(&pair->model);
    }
}

const char *pair_compare(uint64_t seed, unsigned steps)
{
    static struct pair pair;
    const char *wrong;

    begin(&pair, seed);
    wrong = compare(&pair, 0);
    for (unsigned step = 1; step <= steps && !wrong; step++) {
        int victim = draw_victim(&pair);

        pair.model.trace.count = pair.trace.count = 0;
        pair.model.now += pick(&pair, 3) ? pick(&pair, HUB_SECOND) : 0;
        if (victim < 0 || pick(&pair, 8) == 0)
            revive_in_both(&pair);
        else
            kill_in_both(&pair, victim);
        wrong = compare(&pair, step);
    }
    host_machine_fini(&pair.core);
    return wrong;
}
