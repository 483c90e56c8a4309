/* SPDX-License-Identifier: Apache-2.0 */
/* The suites of conformance, and random operations, on a seat: --operations N, --seed N. */
#include <stdlib.h>
#include <string.h>

#include "tests/metastore/conformance.h"
#include "tests/metastore/conformance_step.h"
#include "tests/metastore/conformance_watch.h"
#include "tests/metastore/random_ops.h"
#include "tests/metastore/seat_pair.h"
#include "tests/support/testing.h"

static uint64_t operations = 2000, seed = 1;

/* r[verify cluster.store.atomic] r[verify cluster.store.range] r[verify cluster.store.watch] */
static void all_ends_are_those_of_the_oracle(void **state)
{
    const struct random_ops ops = {.seed = seed, .count = operations, .at_once = 16};

    (void)state;
    seat_wire_way = (struct seat_wire_way){.seed = seed, .delay_most = 4};
    assert_int_equal(random_ops_run(&seat_pair_end, &ops), 0);
}

/* The link is cut once in some 40 pieces, and one transaction in ten is lost besides. r[verify
 * cluster.store.outcome] r[verify cluster.store.retry] r[verify cluster.store.seat.link] */
static void so_they_are_over_a_link_that_is_cut(void **state)
{
    const struct random_ops ops = {
        .seed = seed, .count = operations, .at_once = 1, .unsure = true, .cut = true};

    (void)state;
    seat_pair_counts = (struct seat_pair_counts){0};
    seat_wire_way = (struct seat_wire_way){
        .seed = seed, .cut_every = 40, .cut_after = seed % 2, .delay_most = 4, .down_most = 50};
    assert_int_equal(random_ops_run(&seat_pair_end, &ops), 0);
    print_message("  %llu pieces, the link cut %llu times\n",
                  (unsigned long long)seat_pair_counts.pieces,
                  (unsigned long long)seat_pair_counts.cuts);
    assert_true(seat_pair_counts.cuts > operations / 40);
    assert_int_equal(seat_pair_counts.refused, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ends_are_those_of_the_oracle),
        cmocka_unit_test(so_they_are_over_a_link_that_is_cut),
    };
    int failed = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--operations") == 0)
            operations = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
    }
    if (argc == 1)
        failed = conformance_run(&seat_pair_end) + conformance_watch_run(&seat_pair_end) +
                 conformance_step_run(&seat_pair_end);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
