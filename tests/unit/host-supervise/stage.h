/* SPDX-License-Identifier: Apache-2.0 */
/* stage: a machine of supervisors, and a world that starts at once what it is told to, and stops it
 * at once. */
#ifndef TESTS_UNIT_HOST_SUPERVISE_STAGE_H
#define TESTS_UNIT_HOST_SUPERVISE_STAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/supervise/strategy.h"
#include "host/supervise/supervisor.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define UNUSED __attribute__((unused))

#define MS HUB_MILLISECOND

struct stage {
    struct host_machine machine;
    uint64_t now;
    char log[4096]; /* "+name" started, "-name" stopped, "!name" killed, "name=failed" */
    bool idle;      /* a started child does not become ready by itself */
    enum rapahub_exhausted answer;
    uint32_t asked;
};

UNUSED static int answer(void *user, uint32_t place, enum rapahub_exit_class class)
{
    struct stage *stage = user;

    (void)place;
    (void)class;
    stage->asked++;
    return (int)stage->answer;
}

UNUSED static void begin(struct stage *stage)
{
    const struct host_machine_limits limits = {
        .children_max = 40, .starts_parallel_max = 40, .seed = 1, .ask = answer, .ask_user = stage};

    memset(stage, 0, sizeof *stage);
    stage->now = HUB_SECOND;
    assert_int_equal(host_machine_init(&stage->machine, &limits), 0);
}

UNUSED static struct host_child *child(struct stage *stage, uint32_t place)
{
    return host_machine_child(&stage->machine, place);
}

UNUSED static void put(struct stage *stage, const char *mark, const char *name, const char *behind)
{
    size_t size = strlen(stage->log);

    snprintf(stage->log + size, sizeof stage->log - size, "%s%s%s ", mark, name, behind);
}

UNUSED static void obey(struct stage *stage, const struct host_decision *decision)
{
    const struct host_ending ending = {.class = RAPAHUB_EXIT_CLEAN};
    struct host_machine *machine = &stage->machine;
    const char *name = child(stage, decision->place)->name;

    if (decision->kind == HOST_DECISION_MOVED && decision->to == HOST_CHILD_FAILED)
        put(stage, "", name, "=failed");
    if (decision->kind == HOST_DECISION_MOVED)
        return;
    put(stage,
        decision->kind == HOST_DECISION_START  ? "+"
        : decision->kind == HOST_DECISION_STOP ? "-"
                                               : "!",
        name, "");
    if (decision->kind == HOST_DECISION_START && stage->idle)
        return;
    if (decision->kind == HOST_DECISION_START) {
        (void)host_supervisor_attached(machine, decision->place, decision->incarnation);
        (void)host_supervisor_ready(machine, decision->place, decision->incarnation, stage->now);
        return;
    }
    (void)host_supervisor_exited(machine, decision->place, decision->incarnation, &ending,
                                 stage->now);
}

UNUSED static void carry_out(struct stage *stage)
{
    struct host_decision decision;

    while (host_machine_next(&stage->machine, &decision))
        obey(stage, &decision);
}

UNUSED static uint32_t add(struct stage *stage, uint32_t parent, const char *name,
                           struct rapahub_supervision how)
{
    const struct host_tree_plan plan = {.name = name, .parent = parent, .how = &how};
    uint32_t place = 0;

    assert_int_equal(host_supervisor_add(&stage->machine, &plan, stage->now, &place), 0);
    carry_out(stage);
    return place;
}

UNUSED static uint32_t add_group(struct stage *stage, uint32_t parent, const char *name,
                                 struct rapahub_supervisor_options group)
{
    const struct host_tree_plan plan = {.name = name, .parent = parent, .group = &group};
    uint32_t place = 0;

    assert_int_equal(host_supervisor_add(&stage->machine, &plan, stage->now, &place), 0);
    carry_out(stage);
    return place;
}

UNUSED static void die(struct stage *stage, uint32_t place)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};

    stage->log[0] = '\0';
    assert_int_equal(host_supervisor_exited(&stage->machine, place,
                                            child(stage, place)->incarnation, &ending, stage->now),
                     0);
    carry_out(stage);
}

/* So far that all that was due has been started. */
UNUSED static void pass(struct stage *stage, uint64_t span)
{
    stage->now += span;
    host_supervisor_tick(&stage->machine, stage->now);
    carry_out(stage);
}

UNUSED static void end(struct stage *stage)
{
    host_machine_fini(&stage->machine);
}

UNUSED static const struct rapahub_supervision often = {.backoff_initial_ns = RAPAHUB_NONE,
                                                        .restarts_max = 256};

#endif
