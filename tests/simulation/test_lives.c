/* SPDX-License-Identifier: Apache-2.0 */
/* Random trees live random lives; nothing that must never be may happen in any. `--lives N` and
 * `--seed N`: how many, from which seed on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulation/world.h"
#include "tests/support/testing.h"

#define LIVES 10000
#define STEPS 80

static uint64_t seed = 1, lives = LIVES;

/* r[verify supervise.incarnation] r[verify supervise.states] r[verify supervise.requires]
 * r[verify supervise.order] r[verify supervise.stop.order] r[verify supervise.stop.deadline]
 * r[verify supervise.start.pace] r[verify supervise.strategy] r[verify supervise.closed] */
static void nothing_happens_in_any_life_that_must_never_be(void **state)
{
    const struct world_figures *seen = world_figures();
    const char *broken = NULL;

    (void)state;
    for (uint64_t i = 0; i < lives && !broken; i++)
        broken = world_live(seed + i, STEPS);
    if (broken)
        print_error("%s\n", broken);
    assert_null(broken);
    print_message("%llu lives, %llu events: %llu starts, %llu stops, %llu kills, %llu failures, "
                  "%llu given up\n",
                  (unsigned long long)seen->lives, (unsigned long long)seen->events,
                  (unsigned long long)seen->starts, (unsigned long long)seen->stops,
                  (unsigned long long)seen->kills, (unsigned long long)seen->failures,
                  (unsigned long long)seen->given_up);
    assert_true(seen->given_up > seen->lives / 10 && seen->kills > seen->lives / 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_in_any_life_that_must_never_be),
    };

    for (int i = 1; i + 1 < argc; i += 2)
        *(strcmp(argv[i], "--seed") == 0 ? &seed : &lives) = strtoull(argv[i + 1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
