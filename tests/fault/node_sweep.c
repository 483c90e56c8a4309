/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/node_sweep.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "hub/base/clock.h"
#include "tests/fault/syscall_names.h"
#include "tests/support/pause.h"

const char *const node_sweep_processes[NODE_SWEEP_PROCESSES] = {"daemon", "warden", "command"};

struct node_sweep_options node_sweep_options;
struct node_stage node_sweep_stage;

void node_sweep_read_options(int argc, char **argv)
{
    const char *given = getenv("RAPAHUB_TEST_SEED");
    struct node_sweep_options *out = &node_sweep_options;

    *out = (struct node_sweep_options){
        .only = "", .seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)hub_clock_now()};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--every") == 0)
            out->every = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            out->only = argv[++i];
    }
    printf("seed %u\n", out->seed);
    fflush(stdout);
}

bool node_sweep_is_wanted(const struct node_operation *operation)
{
    const char *only = node_sweep_options.only;

    return strncmp(operation->name, only, strlen(only)) == 0;
}

int node_sweep_begin(void **state)
{
    (void)state;
    node_stage_open(&node_sweep_stage);
    node_operations_begin(&node_sweep_stage);
    return 0;
}

int node_sweep_end(void **state)
{
    (void)state;
    node_stage_close(&node_sweep_stage);
    return 0;
}

struct point {
    struct node_stage *stage;
    const struct node_operation *operation;
    enum node_sweep_process process;
    struct syscall_trace *trace;
    const struct node_sweep_power *power; /* NULL: it does not fail */
};

bool node_sweep_has(const struct node_operation *operation, enum node_sweep_process process)
{
    if (process == NODE_SWEEP_DAEMON)
        return !operation->daemon_dies;
    if (process == NODE_SWEEP_WARDEN)
        return operation->warden;
    return operation->way == NODE_OPERATIONS_TYPED && !operation->keep; /* that is no command's */
}

const char *node_sweep_call_name(long number)
{
    static char text[32];
    const char *name = syscall_names_of(number);

    snprintf(text, sizeof text, "%ld", number);
    return name ? name : text;
}

/* ---- it begins ---- */

static int attach(const struct point *point)
{
    struct node_stage *stage = point->stage;
    pid_t pid =
        point->process == NODE_SWEEP_WARDEN ? stage->warden.pid : node_process_daemon(&stage->node);

    return syscall_trace_attach(point->trace, pid);
}

static const char *begin_typed(const struct point *point)
{
    struct node_stage *stage = point->stage;
    int gate, r;

    node_stage_prepare_command(stage, point->operation->words, &gate);
    r = point->process == NODE_SWEEP_COMMAND
            ? syscall_trace_attach_new(point->trace, stage->command.pid, false)
            : attach(point);
    if (r == 0 && point->operation->strike)
        point->operation->strike(stage);
    syscall_trace_release(gate);
    return r == 0 ? NULL : "it cannot be traced";
}

static const char *begin_start(const struct point *point)
{
    struct node_stage *stage = point->stage;
    int gate, command, r;

    node_stage_prepare(stage, &gate);
    node_stage_prepare_command(stage, point->operation->words, &command);
    r = syscall_trace_attach_new(point->trace, stage->warden.pid,
                                 point->process == NODE_SWEEP_DAEMON);
    syscall_trace_release(gate);
    syscall_trace_release(command);
    return r == 0 ? NULL : "it cannot be traced";
}

static const char *begin_stop(const struct point *point)
{
    if (attach(point) != 0)
        return "it cannot be traced";
    kill(point->stage->warden.pid, SIGTERM);
    return NULL;
}

static const char *prepare(const struct point *point)
{
    struct node_stage *stage = point->stage;
    const char *wrong;

    node_stage_begin(stage);
    wrong = node_stage_settle(stage);
    return !wrong && point->operation->prepare ? point->operation->prepare(stage) : wrong;
}

static const char *begin(const struct point *point)
{
    struct node_stage *stage = point->stage;
    bool stops = point->operation->way == NODE_OPERATIONS_STOPS;
    const char *wrong;

    point->trace->children[0] = stops ? &stage->warden : &stage->command;
    point->trace->children[1] = stops ? &stage->command : &stage->warden;
    node_stage_restore(stage, (unsigned)point->operation->folder);
    stage->keep = point->operation->keep;
    if (point->power)
        point->power->begins(point->power->user);
    if (point->power || point->operation->way == NODE_OPERATIONS_STARTS)
        return begin_start(point);
    wrong = prepare(point);
    if (wrong)
        return wrong;
    return stops ? begin_stop(point) : begin_typed(point);
}

/* ---- after it ---- */

/* A daemon that could not begin ends its warden, and any other is begun again. */
static void await_next_daemon(const struct point *point)
{
    struct node_stage *stage = point->stage;
    uint64_t deadline_ns = hub_clock_after(10 * HUB_SECOND);
    pid_t daemon = 0;

    while (!stage->warden.ended && (daemon == 0 || daemon == point->trace->target) &&
           hub_clock_left(deadline_ns) > 0) {
        if (waitpid(stage->warden.pid, &stage->warden.status, WNOHANG) == stage->warden.pid)
            stage->warden.ended = true;
        daemon = node_process_daemon(&stage->node);
        pause_ms(1);
    }
}

/* Where the warden has ended, its daemon ends too, and both are begun again. */
static const char *recover(const struct point *point)
{
    struct node_stage *stage = point->stage;

    if (point->operation->way == NODE_OPERATIONS_STOPS && !syscall_trace_await(&stage->warden))
        return "the warden does not end";
    if (point->trace->dead)
        await_next_daemon(point);
    if (stage->warden.ended && !node_stage_await_orphans(stage))
        return "a process outlives the warden";
    if (point->power && point->trace->reached)
        point->power->fails(point->power->user);
    node_stage_begin(stage);
    return NULL;
}

static bool has_said(struct node_stage *stage, const char *words)
{
    return words && strstr(node_stage_said(stage), words);
}

/* Sets whether the operation was told as done. A command that lives on gets its answer. */
static const char *await_command(const struct point *point, bool *told)
{
    struct node_stage *stage = point->stage;
    int status;

    if (point->operation->way == NODE_OPERATIONS_STOPS) {
        *told = WIFEXITED(stage->warden.status) && !point->trace->reached;
        return NULL;
    }
    if (!syscall_trace_await(&stage->command))
        return "the command does not end";
    status = stage->command.status;
    *told = WIFEXITED(status) &&
            (WEXITSTATUS(status) == 0 || has_said(stage, point->operation->repeated));
    if (*told || point->process == NODE_SWEEP_COMMAND)
        return NULL;
    return point->trace->error != 0 && has_said(stage, "error: ") ? NULL : node_stage_said(stage);
}

/* What was told is durable. */
static const char *kill_daemon(const struct point *point)
{
    pid_t daemon = node_process_daemon(&point->stage->node);

    if (daemon > 0)
        kill(daemon, SIGKILL);
    return NULL;
}

static const char *look(const struct point *point, unsigned times, bool maybe)
{
    const char *wrong = node_stage_settle(point->stage);

    return wrong ? wrong : point->operation->check(point->stage, times, maybe);
}

static const char *do_it_again(const struct point *point, bool told)
{
    struct node_stage *stage = point->stage;
    int status = node_stage_type(stage, point->operation->words);

    if (status != 0 && !has_said(stage, point->operation->repeated))
        return node_stage_said(stage);
    return look(point, told ? 2 : 1, !told);
}

static const char *after(const struct point *point)
{
    bool told = false;
    const char *wrong = recover(point);

    if (!wrong)
        wrong = await_command(point, &told);
    if (!wrong && point->trace->error != 0)
        wrong = kill_daemon(point);
    if (!wrong)
        wrong = look(point, told ? 1 : 0, !told);
    if (!wrong && point->operation->way != NODE_OPERATIONS_STOPS)
        wrong = do_it_again(point, told);
    return wrong ? wrong : node_stage_end(point->stage);
}

static const char *run(const struct point *point)
{
    const char *wrong = begin(point);

    if (!wrong && !syscall_trace_run(point->trace))
        wrong = "it takes too long";
    return wrong ? wrong : after(point);
}

const char *node_sweep_run(struct node_stage *stage, const struct node_operation *operation,
                           enum node_sweep_process process, struct syscall_trace *trace)
{
    const struct point point = {stage, operation, process, trace, NULL};

    return run(&point);
}

const char *node_sweep_run_power(struct node_stage *stage, const struct node_operation *operation,
                                 struct syscall_trace *trace, const struct node_sweep_power *power)
{
    const struct point point = {stage, operation, NODE_SWEEP_DAEMON, trace, power};

    return run(&point);
}
