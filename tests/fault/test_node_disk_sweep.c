/* SPDX-License-Identifier: Apache-2.0 */
/* ENOSPC or EIO at a change of a file, or where it is made durable, of a node that does what it is
 * asked: once, or for 200 ms. What it does is done, or refused with an error; then its daemon is
 * killed, and what was told as done is so, nothing is half, and the same can be done again.
 *
 * Each run chooses some of the calls by a seed, which it prints; --every takes each. `--only TEXT`
 * takes the operations whose names begin so. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/clock.h"
#include "tests/fault/node_disk.h"
#include "tests/fault/node_sweep.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define FEW   2  /* points of an operation and an error; half of them for a while */
#define SHOWN 8  /* failures */
#define TIRED 3  /* ends before the point, and there are no more */
#define MOST  32 /* operations */
#define SPAN  (200 * HUB_MILLISECOND)

static uint64_t calls[MOST]; /* of each operation, when none fails */

struct sweep {
    const struct node_operation *operation;
    const char *name; /* of the error */
    int error;
    uint64_t span_ns;
    char folder[NODE_PROCESS_PATH];
    uint64_t points, failures, calls;
};

/* Returns whether the point was reached. */
static bool run_at(struct sweep *sweep, uint64_t at)
{
    struct syscall_trace trace = {.at = at,
                                  .error = sweep->error,
                                  .span_ns = sweep->span_ns,
                                  .counts = node_disk_is_change,
                                  .user = sweep->folder};
    uint64_t begun_ns = hub_clock_now();
    const char *wrong =
        node_sweep_run(&node_sweep_stage, sweep->operation, NODE_SWEEP_DAEMON, &trace);

    if (wrong && sweep->failures++ < SHOWN)
        printf("  %s, %s, point %" PRIu64 " at %s: %s\n", sweep->operation->name, sweep->name, at,
               node_sweep_call_name(trace.last), wrong);
    if (getenv("RAPAHUB_TEST_VERBOSE"))
        printf("  point %" PRIu64 " %s: %.0f ms: %s\n", at,
               trace.reached ? node_sweep_call_name(trace.last) : "not reached",
               (double)(hub_clock_now() - begun_ns) / 1e6, node_stage_said(&node_sweep_stage));
    fflush(stdout);
    sweep->points += trace.reached;
    sweep->calls = trace.stops > sweep->calls ? trace.stops : sweep->calls;
    return trace.reached;
}

static void sweep_one(struct sweep *sweep, uint64_t *known)
{
    unsigned ends = 0;

    if (*known == 0)
        (void)run_at(sweep, 0);
    *known = *known == 0 ? sweep->calls : *known;
    sweep->calls = *known;
    assert_true(sweep->failures == 0 && sweep->calls > 0);
    for (unsigned i = sweep->span_ns > 0 ? FEW / 2 : 0; !node_sweep_options.every && i < FEW; i++)
        (void)run_at(sweep, 1 + (uint64_t)rand_r(&node_sweep_options.seed) % *known);
    for (uint64_t at = 1; node_sweep_options.every && ends < TIRED; at++)
        ends = run_at(sweep, at) ? 0 : ends + 1;
    printf("node, %s, %s%s | %" PRIu64 " calls | %5" PRIu64 " points | %" PRIu64 " failures\n",
           sweep->operation->name, sweep->name, sweep->span_ns > 0 ? " for a while" : "",
           sweep->calls, sweep->points, sweep->failures);
    fflush(stdout);
    assert_int_equal(sweep->failures, 0);
}

static void sweep_all(const char *name, int error, uint64_t span_ns)
{
    assert_true(node_operations_count <= MOST);
    for (unsigned i = 0; i < node_operations_count; i++) {
        struct sweep sweep = {
            .operation = &node_operations[i], .name = name, .error = error, .span_ns = span_ns};

        node_stage_path(&node_sweep_stage, "data", sweep.folder);
        if (node_sweep_is_wanted(&node_operations[i]) &&
            node_sweep_has(&node_operations[i], NODE_SWEEP_DAEMON))
            sweep_one(&sweep, &calls[i]);
    }
}

/* r[verify cluster.store.space] r[verify cluster.wal.space] */
static void a_disk_is_full(void **state)
{
    (void)state;
    sweep_all("no space", ENOSPC, 0);
}

static void a_disk_stays_full(void **state)
{
    (void)state;
    sweep_all("no space", ENOSPC, SPAN);
}

/* r[verify cluster.disk.failed] r[verify cluster.wal.fsync] */
static void a_disk_fails(void **state)
{
    (void)state;
    sweep_all("a bad disk", EIO, 0);
}

static void a_disk_stays_bad(void **state)
{
    (void)state;
    sweep_all("a bad disk", EIO, SPAN);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_is_full),
        cmocka_unit_test(a_disk_stays_full),
        cmocka_unit_test(a_disk_fails),
        cmocka_unit_test(a_disk_stays_bad),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    node_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, node_sweep_begin, node_sweep_end);
}
