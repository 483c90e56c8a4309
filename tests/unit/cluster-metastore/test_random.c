/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on SQLite and on the oracle: --operations N, --seed N. */
#include <stdlib.h>
#include <string.h>

#include "cluster/metastore/sqlite/sqlite.h"
#include "tests/metastore/random_ops.h"
#include "tests/support/testing.h"

static uint64_t operations = 2000, seed = 1;

/* r[verify cluster.store.atomic] r[verify cluster.store.range] r[verify cluster.store.watch] */
static void all_ends_are_those_of_the_oracle(void **state)
{
    const struct random_ops ops = {.seed = seed, .count = operations, .at_once = 16};

    (void)state;
    assert_int_equal(random_ops_run(&cluster_sqlite_end, &ops), 0);
}

/* r[verify cluster.store.outcome] r[verify cluster.store.retry] */
static void so_they_are_where_answers_get_lost(void **state)
{
    const struct random_ops ops = {.seed = seed, .count = operations, .at_once = 1, .unsure = true};

    (void)state;
    assert_int_equal(random_ops_run(&cluster_sqlite_end, &ops), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ends_are_those_of_the_oracle),
        cmocka_unit_test(so_they_are_where_answers_get_lost),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--operations") == 0)
            operations = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
