/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/machine.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/check.h"

/* An event takes a child at most down, to its rest, and up again, with one order for each. */
#define DECISIONS_EACH 12

int host_machine_init(struct host_machine *machine, const struct host_machine_limits *limits)
{
    int r;

    *machine = (struct host_machine){.seeds = limits->seed,
                                     .ask = limits->ask,
                                     .ask_user = limits->ask_user,
                                     .queue_max = DECISIONS_EACH * limits->children_max};
    host_pace_init(&machine->pace, limits->starts_parallel_max, limits->start_burst,
                   limits->start_each_ns);
    r = host_tree_init(&machine->tree, limits->children_max);
    if (r < 0)
        return r;
    machine->queue = calloc(machine->queue_max, sizeof *machine->queue);
    if (machine->queue)
        return 0;
    host_machine_fini(machine);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u supervised children",
                        limits->children_max);
}

void host_machine_fini(struct host_machine *machine)
{
    host_tree_fini(&machine->tree);
    free(machine->queue);
    *machine = (struct host_machine){0};
}

struct host_child *host_machine_child(const struct host_machine *machine, uint32_t place)
{
    CHECK(place < machine->tree.max);
    return &machine->tree.children[place];
}

static void put(struct host_machine *machine, const struct host_decision *decision)
{
    CHECK(machine->count < machine->queue_max);
    machine->queue[(machine->first + machine->count++) % machine->queue_max] = *decision;
}

/* The class that caused a supervisor to stop by itself. */
static enum rapahub_exit_class class_of(const struct host_child *child)
{
    return child->fall == HOST_FALL_NONE ? child->ended : child->fall_class;
}

void host_machine_move(struct host_machine *machine, uint32_t place, enum host_child_state to)
{
    struct host_child *child = host_machine_child(machine, place);
    struct host_decision moved = {.kind = HOST_DECISION_MOVED,
                                  .place = place,
                                  .incarnation = child->incarnation,
                                  .from = (enum host_child_state)child->state,
                                  .to = to,
                                  .over = child->over,
                                  .due_ns = child->due_ns,
                                  .class = class_of(child),
                                  .why = child->why,
                                  .fall = child->fall,
                                  .failures = child->budget.count};

    hub_states_move(&host_tree_states, &child->state, (uint32_t)to, child->name, "");
    put(machine, &moved);
}

void host_machine_order(struct host_machine *machine, enum host_decision_kind kind, uint32_t place)
{
    const struct host_child *child = host_machine_child(machine, place);
    const struct host_decision order = {
        .kind = kind, .place = place, .incarnation = child->incarnation};

    put(machine, &order);
}

bool host_machine_next(struct host_machine *machine, struct host_decision *out)
{
    if (machine->count == 0)
        return false;
    *out = machine->queue[machine->first];
    machine->first = (machine->first + 1) % machine->queue_max;
    machine->count--;
    return true;
}
