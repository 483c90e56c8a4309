/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/model.h"

void model_note(struct trace *trace, int node, bool start)
{
    if (trace->count < ACTS)
        trace->acts[trace->count++] = (char)((start ? 'A' : 'a') + node);
}

static int within(const uint64_t *times, int count, uint64_t now, uint64_t period)
{
    int n = 0;

    for (int i = 0; i < count; i++)
        n += times[i] > now - period || times[i] == now;
    return n;
}

/* All of a node, in the reverse of the order it was started in. */
static void stop(struct model *model, int node, enum fate to)
{
    for (int i = model->count - 1; i > node; i--)
        if (model->nodes[i].parent == node && model->memory[i].fate != GONE) {
            if (model->memory[i].fate == UP)
                stop(model, i, DOWN);
            model->memory[i].fate = DOWN;
            model->memory[i].wanted = false;
        }
    if (model->memory[node].fate == UP && !model->nodes[node].supervisor)
        model_note(&model->trace, node, false);
    model->memory[node].fate = to;
    model->memory[node].ready = false;
}

/* With all it has. */
static void close_all(struct model *model, int node)
{
    for (int i = node + 1; i < model->count; i++)
        if (model->nodes[i].parent == node)
            close_all(model, i);
    model->memory[node].fate = GONE;
    model->memory[node].wanted = false;
}

bool model_is_ordered(const struct node *node)
{
    return node->strategy == RAPAHUB_ONE_FOR_ALL || node->strategy == RAPAHUB_REST_FOR_ONE;
}

/* Up, with all it has. */
static bool is_complete(const struct model *model, int node)
{
    if (model->memory[node].fate != UP || model->memory[node].ready)
        return model->memory[node].fate == UP;
    for (int i = node + 1; i < model->count; i++)
        if (model->nodes[i].parent == node && model->memory[i].wanted && !is_complete(model, i))
            return false;
    return true;
}

static bool is_its_turn(const struct model *model, int node)
{
    int parent = model->nodes[node].parent;

    for (int i = 0; parent >= 0 && model_is_ordered(&model->nodes[parent]) && i < node; i++)
        if (model->nodes[i].parent == parent && model->memory[i].wanted && !is_complete(model, i))
            return false;
    return true;
}

/* -1: nothing is to be started; else the first. Parents come before their children. */
static int next(const struct model *model)
{
    for (int i = 0; i < model->count; i++) {
        const struct memory *memory = &model->memory[i];
        int parent = model->nodes[i].parent;

        if (memory->wanted && memory->fate == DOWN &&
            (parent < 0 || model->memory[parent].fate == UP) && is_its_turn(model, i))
            return i;
    }
    return -1;
}

static void note_ready(struct model *model)
{
    for (int i = model->count - 1; i >= 0; i--)
        model->memory[i].ready = model->nodes[i].supervisor && is_complete(model, i);
}

void model_start_all(struct model *model)
{
    int node;

    for (note_ready(model); (node = next(model)) >= 0; note_ready(model)) {
        model->memory[node].fate = UP;
        if (model->nodes[node].supervisor) {
            model->memory[node].group_count = 0;
            for (int i = node + 1; i < model->count; i++)
                if (model->nodes[i].parent == node && model->memory[i].fate != GONE) {
                    model->memory[i].fate = DOWN;
                    model->memory[i].wanted = true;
                    model->memory[i].failures_count = 0;
                }
            continue;
        }
        model_note(&model->trace, node, true);
        if (model->starts_seen++ < model->fail_starts)
            model_fail(model, node, RAPAHUB_EXIT_SIGNAL, 0);
    }
}

static bool restarts(const struct node *node, enum rapahub_exit_class class)
{
    switch (node->restart) {
    case RAPAHUB_RESTART_PERMANENT:
        return true;
    case RAPAHUB_RESTART_TRANSIENT:
        return class != RAPAHUB_EXIT_CLEAN;
    case RAPAHUB_RESTART_ON_SUCCESS:
        return class == RAPAHUB_EXIT_CLEAN;
    case RAPAHUB_RESTART_ON_ABNORMAL:
        return class != RAPAHUB_EXIT_CLEAN && class != RAPAHUB_EXIT_CODE &&
               class != RAPAHUB_EXIT_SPAWN && class != RAPAHUB_EXIT_LINK;
    case RAPAHUB_RESTART_ON_WATCHDOG:
        return class == RAPAHUB_EXIT_WATCHDOG;
    case RAPAHUB_RESTART_ON_ABORT:
        return class == RAPAHUB_EXIT_SIGNAL || class == RAPAHUB_EXIT_CORE;
    default:
        return false;
    }
}

/* The supervisor comes down, and is then a failure of its parent's; a root's children are parked.
 */
static void fall(struct model *model, int supervisor, enum rapahub_exhausted policy,
                 enum rapahub_exit_class class)
{
    bool root = model->nodes[supervisor].parent < 0;
    bool wanted[NODES];

    for (int i = 0; i < model->count; i++)
        wanted[i] = model->memory[i].wanted || model->memory[i].fate == PARKED;
    stop(model, supervisor, DOWN);
    if (root || policy == RAPAHUB_EXHAUSTED_PARK) {
        model->memory[supervisor].fate = PARKED;
        model->memory[supervisor].wanted = false;
        for (int i = 0; root && policy != RAPAHUB_EXHAUSTED_PARK && i < model->count; i++)
            if (model->nodes[i].parent == supervisor && wanted[i] && model->memory[i].fate == DOWN)
                model->memory[i].fate = PARKED;
        return;
    }
    model_fail(model, supervisor, class, 0);
}

static void end(struct model *model, int node, bool prevented)
{
    const struct node *of = &model->nodes[node];
    enum rapahub_auto_shutdown shuts = model->nodes[of->parent].shuts;
    bool last = true;

    model->memory[node].wanted = false;
    model->memory[node].fate = prevented ? PARKED : DOWN;
    if (of->restart == RAPAHUB_RESTART_TEMPORARY)
        close_all(model, node);
    for (int i = 0; i < model->count; i++)
        if (model->nodes[i].parent == of->parent && model->nodes[i].significant &&
            model->memory[i].wanted)
            last = false;
    if (!of->significant || shuts == RAPAHUB_AUTO_SHUTDOWN_NEVER ||
        (shuts == RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT && !last))
        return;
    if (model->nodes[of->parent].parent >= 0) {
        stop(model, of->parent, DOWN);
        model_fail(model, of->parent, RAPAHUB_EXIT_CLEAN, 0);
    } else {
        stop(model, of->parent, DOWN);
        model->memory[of->parent].wanted = false;
    }
}

static bool goes(const struct model *model, int node, int other)
{
    enum rapahub_strategy strategy = model->nodes[model->nodes[node].parent].strategy;

    return strategy == RAPAHUB_ONE_FOR_ALL || (strategy == RAPAHUB_REST_FOR_ONE && other > node);
}

void model_fail(struct model *model, int node, enum rapahub_exit_class class, int status)
{
    const struct node *of = &model->nodes[node], *above = &model->nodes[of->parent];
    struct memory *memory = &model->memory[node], *group = &model->memory[of->parent];
    bool full, group_full;

    memory->fate = DOWN;
    if (status == 125) {
        end(model, node, true);
        return;
    }
    if (!restarts(of, class)) {
        end(model, node, false);
        return;
    }
    full = within(memory->failures, memory->failures_count, model->now, of->period) >= of->max;
    group_full = above->limit >= 0 && within(group->group, group->group_count, model->now,
                                             above->period) >= above->limit;
    memory->failures[memory->failures_count++] = model->now;
    group->group[group->group_count++] = model->now;
    if (full && of->policy == RAPAHUB_EXHAUSTED_PARK) {
        memory->wanted = false;
        memory->fate = PARKED;
        return;
    }
    if ((full && of->policy == RAPAHUB_EXHAUSTED_ESCALATE) || group_full) {
        fall(model, of->parent, above->group_policy, class);
        return;
    }
    for (int i = model->count - 1; i > of->parent; i--) {
        if (model->nodes[i].parent != of->parent || i == node || !model->memory[i].wanted ||
            !goes(model, node, i))
            continue;
        if (model->memory[i].fate == UP)
            stop(model, i, DOWN);
        if (model->nodes[i].restart == RAPAHUB_RESTART_TEMPORARY)
            close_all(model, i);
    }
}
