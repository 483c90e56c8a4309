/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions of supervision, compared with a sequential model of the rules. `--steps N` and
 * `--seed N`: the least number of deaths, and the first seed. */
#include <stdlib.h>
#include <string.h>

#include "tests/simulation/pair.h"
#include "tests/support/testing.h"

#define STEPS 50000
#define EACH  100

static uint64_t seed = 1, steps = STEPS;

/* r[verify supervise.decide] r[verify supervise.restart] r[verify supervise.strategy]
 * r[verify supervise.group] r[verify supervise.once] r[verify supervise.window]
 * r[verify supervise.exhausted] r[verify supervise.root] r[verify supervise.significant]
 * r[verify supervise.exit.codes] */
static void all_that_is_decided_equals_the_model(void **state)
{
    const char *wrong = NULL;

    (void)state;
    for (uint64_t i = 0; i * EACH < steps && !wrong; i++)
        wrong = pair_compare(seed + i, EACH);
    if (wrong)
        print_error("%s\n", wrong);
    assert_null(wrong);
    print_message("%llu starts and stops are equal\n", (unsigned long long)pair_compared());
    assert_true(pair_compared() > steps);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_decided_equals_the_model),
    };

    for (int i = 1; i + 1 < argc; i += 2)
        *(strcmp(argv[i], "--seed") == 0 ? &seed : &steps) = strtoull(argv[i + 1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
