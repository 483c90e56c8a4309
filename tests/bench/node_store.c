/* SPDX-License-Identifier: Apache-2.0 */
/* node_store: transactions of the metastore and bare commits of the same rows, by the program
 * store-bench, which knows the inside of a node. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/once.h"
#include "tests/bench/stage.h"
#include "tests/support/process.h"

#define PROGRAM TEST_PREFIX "/bench/store-bench"

/* value: a second. */
static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static const char *const words[] = {"store", "bare"};
    const char *const argv[] = {PROGRAM, TEST_PREFIX "/bench", words[subject->kind], NULL};
    struct process_result result;
    int r;

    (void)options;
    if (access(PROGRAM, X_OK) < 0)
        return stage_not_here(out, "built without the cluster");
    r = process_run_argv(argv, &result);
    if (r < 0)
        return stage_failed(PROGRAM, r);
    if (result.status == 0)
        once_read(result.out, out);
    else
        fprintf(stderr, "%s: %.300s\n", PROGRAM, result.err);
    r = result.status == 0 ? 0 : -EIO;
    process_result_fini(&result);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject node_store_subjects[] = {
    {"store-txn", "transactions", run, SUITE_SLEEP, SUITE_FREE, 0, 0, 0, 0},
    {"store-bare", "commits of SQLite", run, SUITE_SLEEP, SUITE_FREE, 1, 0, 0, 0},
    {0},
};
