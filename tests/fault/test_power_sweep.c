/* SPDX-License-Identifier: Apache-2.0 */
/* Power fails under a whole node, at a change of a file or where it is made durable: all of its
 * processes die at once, and what was not made durable is lost, or is there in part. Then the node
 * is started on what is left: what was told as done is so, nothing is half, and the same can be
 * done again.
 *
 * Each run chooses some of the points by a seed, which it prints; --every takes each. `--only TEXT`
 * takes the operations whose names begin so. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "hub/base/clock.h"
#include "tests/fault/node_disk.h"
#include "tests/fault/node_sweep.h"
#include "tests/fault/power_loss.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define FEW   2 /* points of an operation and a loss */
#define SHOWN 8 /* failures */
#define TIRED 3 /* ends before the point, and there are no more */

struct sweep {
    const struct node_operation *operation;
    struct power_loss loss;
    uint64_t at, now; /* the change before which power fails; how many there were */
    uint64_t points, failures, changes;
};

static void begins(void *user)
{
    struct sweep *sweep = user;

    sweep->now = 0;
    power_loss_begin(&sweep->loss);
}

static void fails(void *user)
{
    struct sweep *sweep = user;

    power_loss_strike(&sweep->loss);
}

/* The daemon dies at the one call that counts, and its warden before it can begin another. */
static bool is_the_last(void *user, const struct syscall_trace_call *call)
{
    struct sweep *sweep = user;

    if (!node_disk_is_change(sweep->loss.folder, call))
        return false;
    if (++sweep->now == sweep->at) {
        kill(node_sweep_stage.warden.pid, SIGKILL);
        return true;
    }
    if (call->number == SYS_fsync || call->number == SYS_fdatasync)
        power_loss_sync(&sweep->loss, call->process, (int)call->arguments[0]);
    return false;
}

/* Returns whether the point was reached. */
static bool run_at(struct sweep *sweep, uint64_t at)
{
    struct syscall_trace trace = {.at = 1, .counts = is_the_last, .user = sweep};
    const struct node_sweep_power power = {begins, fails, sweep};
    uint64_t begun_ns = hub_clock_now();
    const char *wrong;

    sweep->at = at;
    wrong = node_sweep_run_power(&node_sweep_stage, sweep->operation, &trace, &power);
    if (wrong && sweep->failures++ < SHOWN)
        printf("  %s, point %" PRIu64 " at %s: %s\n", sweep->operation->name, at,
               node_sweep_call_name(trace.last), wrong);
    if (getenv("RAPAHUB_TEST_VERBOSE"))
        printf("  point %" PRIu64 " %s: %.0f ms: %s\n", at,
               trace.reached ? node_sweep_call_name(trace.last) : "not reached",
               (double)(hub_clock_now() - begun_ns) / 1e6, node_stage_said(&node_sweep_stage));
    fflush(stdout);
    sweep->points += trace.reached;
    return trace.reached;
}

static void sweep_one(struct sweep *sweep)
{
    unsigned ends = 0;

    (void)run_at(sweep, 0);
    sweep->changes = sweep->now;
    assert_true(sweep->failures == 0 && sweep->changes > 0);
    for (unsigned i = 0; !node_sweep_options.every && i < FEW; i++)
        (void)run_at(sweep, 1 + (uint64_t)rand_r(&node_sweep_options.seed) % sweep->changes);
    for (uint64_t at = 1; node_sweep_options.every && ends < TIRED; at++)
        ends = run_at(sweep, at) ? 0 : ends + 1;
    printf("node, %s, %s | %" PRIu64 " changes | %5" PRIu64 " points | %" PRIu64 " failures\n",
           sweep->operation->name, sweep->loss.torn ? "parts are left" : "all is lost",
           sweep->changes, sweep->points, sweep->failures);
    fflush(stdout);
    assert_int_equal(sweep->failures, 0);
}

static void sweep_all(bool torn)
{
    for (unsigned i = 0; i < node_operations_count; i++) {
        const struct node_operation *operation = &node_operations[i];
        struct sweep sweep = {.operation = operation,
                              .loss = {.torn = torn, .seed = node_sweep_options.seed}};

        if (!node_sweep_is_wanted(operation) || operation->prepare || operation->strike)
            continue;
        node_stage_path(&node_sweep_stage, "data", sweep.loss.folder);
        node_stage_path(&node_sweep_stage, "durable", sweep.loss.kept);
        sweep_one(&sweep);
    }
}

/* r[verify cluster.wal.fsync] r[verify cluster.copy.acked] r[verify cluster.restart.epoch] */
static void all_is_lost_that_was_not_synced(void **state)
{
    (void)state;
    sweep_all(false);
}

/* r[verify cluster.wal.tail] */
static void parts_are_left_of_what_was_not_synced(void **state)
{
    (void)state;
    sweep_all(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_lost_that_was_not_synced),
        cmocka_unit_test(parts_are_left_of_what_was_not_synced),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    node_sweep_read_options(argc, argv);
    return cmocka_run_group_tests(tests, node_sweep_begin, node_sweep_end);
}
