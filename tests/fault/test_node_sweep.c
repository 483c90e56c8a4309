/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL of the daemon, its warden or a command before and after a system call of any of its
 * threads, while a node does what it is asked: then the next daemon serves, what was told as done
 * is so, nothing is half, and the same can be done again.
 *
 * Each run chooses some of the points by a seed, which it prints; --every takes each, and checks
 * that each system call which an operation makes was hit. `--only TEXT` takes the operations whose
 * names begin so. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/clock.h"
#include "tests/fault/node_sweep.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define FEW   5 /* points of an operation and a process */
#define SHOWN 8 /* failures */
#define TIRED 3 /* ends before the point, and there are no more */
#define AGAIN 5 /* attempts to hit a call that was missed */

struct sweep {
    const struct node_operation *operation;
    enum node_sweep_process process;
    uint64_t points, failures, calls;
    /* Each by the number of the call. Wanted are those of a run that nothing cuts short. */
    uint64_t wanted[SYSCALL_TRACE_KINDS], seen[SYSCALL_TRACE_KINDS], hit[SYSCALL_TRACE_KINDS];
};

static void show(struct sweep *sweep, uint64_t at, long call, const char *text)
{
    if (sweep->failures++ < SHOWN)
        printf("  %s, %s, point %" PRIu64 " at %s: %s\n", sweep->operation->name,
               node_sweep_processes[sweep->process], at, node_sweep_call_name(call), text);
    fflush(stdout);
}

/* Returns whether the point was reached. */
static bool run_at(struct sweep *sweep, struct syscall_trace *trace, uint64_t at)
{
    uint64_t begun_ns = hub_clock_now();
    const char *wrong;

    trace->at = at;
    wrong = node_sweep_run(&node_sweep_stage, sweep->operation, sweep->process, trace);
    if (wrong)
        show(sweep, at, trace->last, wrong);
    for (unsigned i = 0; i < SYSCALL_TRACE_KINDS; i++)
        sweep->seen[i] += trace->seen[i];
    sweep->points += trace->reached;
    if (trace->reached && trace->last >= 0 && trace->last < SYSCALL_TRACE_KINDS)
        sweep->hit[trace->last]++;
    if (getenv("RAPAHUB_TEST_VERBOSE"))
        printf("  point %" PRIu64 " %s: %.0f ms\n", at,
               trace->reached ? node_sweep_call_name(trace->last) : "not reached",
               (double)(hub_clock_now() - begun_ns) / 1e6);
    return trace->reached;
}

/* ---- which points ---- */

static void take_some(struct sweep *sweep)
{
    for (unsigned i = 0; i < FEW; i++) {
        struct syscall_trace trace = {0};
        uint64_t span = sweep->calls / FEW + 1;

        (void)run_at(sweep, &trace,
                     1 + i * span + (uint64_t)rand_r(&node_sweep_options.seed) % span);
    }
}

static void take_all(struct sweep *sweep)
{
    unsigned ends = 0;

    for (uint64_t at = 1; ends < TIRED; at++) {
        struct syscall_trace trace = {0};

        ends = run_at(sweep, &trace, at) ? 0 : ends + 1;
    }
}

static bool is_number(void *user, const struct syscall_trace_call *call)
{
    return call->number == *(const long *)user;
}

/* Calls that only some runs make. */
static void take_missed(struct sweep *sweep)
{
    for (long number = 0; number < SYSCALL_TRACE_KINDS; number++)
        for (unsigned i = 0; i < AGAIN && sweep->seen[number] > 0 && sweep->hit[number] == 0; i++) {
            struct syscall_trace trace = {.counts = is_number, .user = &number};

            (void)run_at(sweep, &trace, 1);
        }
}

/* Says which calls were met, and which of them no point was at. Returns how many of those are
 * wanted. */
static unsigned print_calls(const struct sweep *sweep)
{
    unsigned missed = 0;

    for (long i = 0; i < SYSCALL_TRACE_KINDS; i++) {
        if (sweep->seen[i] == 0)
            continue;
        printf(" %s%s", sweep->hit[i] > 0 ? "" : "not ", node_sweep_call_name(i));
        missed += sweep->wanted[i] > 0 && sweep->hit[i] == 0;
    }
    printf("\n");
    return missed;
}

static void print(const struct sweep *sweep)
{
    unsigned seen = 0, hit = 0, missed;

    for (unsigned i = 0; i < SYSCALL_TRACE_KINDS; i++) {
        seen += sweep->seen[i] > 0;
        hit += sweep->hit[i] > 0;
    }
    printf("node, %s, %s | %" PRIu64 " stops, at %u of %u system calls | %5" PRIu64
           " points | %" PRIu64 " failures\n",
           sweep->operation->name, node_sweep_processes[sweep->process], sweep->calls, hit, seen,
           sweep->points, sweep->failures);
    missed = node_sweep_options.every ? print_calls(sweep) : 0;
    fflush(stdout);
    assert_int_equal(missed, 0);
}

static void sweep_one(const struct node_operation *operation, enum node_sweep_process process)
{
    struct sweep sweep = {.operation = operation, .process = process};
    struct syscall_trace trace = {0};

    (void)run_at(&sweep, &trace, 0);
    sweep.calls = trace.stops;
    memcpy(sweep.wanted, trace.seen, sizeof sweep.wanted);
    assert_int_equal(sweep.failures, 0);
    assert_true(sweep.calls > 10);
    if (node_sweep_options.every)
        take_all(&sweep);
    else
        take_some(&sweep);
    if (node_sweep_options.every)
        take_missed(&sweep);
    print(&sweep);
    assert_int_equal(sweep.failures, 0);
}

static void sweep_all(enum node_sweep_process process)
{
    for (unsigned i = 0; i < node_operations_count; i++)
        if (node_sweep_is_wanted(&node_operations[i]) &&
            node_sweep_has(&node_operations[i], process))
            sweep_one(&node_operations[i], process);
}

/* r[verify cluster.operation.resume] r[verify cluster.warden.restart] r[verify cluster.store.keep]
 */
static void the_daemon_dies(void **state)
{
    (void)state;
    sweep_all(NODE_SWEEP_DAEMON);
}

/* r[verify cluster.warden.death] */
static void the_warden_dies(void **state)
{
    (void)state;
    sweep_all(NODE_SWEEP_WARDEN);
}

static void the_command_dies(void **state)
{
    (void)state;
    sweep_all(NODE_SWEEP_COMMAND);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_daemon_dies),
        cmocka_unit_test(the_warden_dies),
        cmocka_unit_test(the_command_dies),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    node_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, node_sweep_begin, node_sweep_end);
}
