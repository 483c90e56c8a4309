/* SPDX-License-Identifier: Apache-2.0 */
/* The lead changes hands in random lives; nothing that must never be may happen in any. `--lives N`
 * and `--seed N`: how many, from which seed on. */
#include <stdlib.h>
#include <string.h>

#include "hub/base/clock.h"
#include "tests/simulation/cluster/term_world.h"
#include "tests/support/testing.h"

#define LIVES  1000
#define FAULTS 24

static uint64_t seed = 1, lives = LIVES;

static void print_figures(uint64_t ns)
{
    const struct term_world_figures *seen = term_world_figures();

#define N(member) (unsigned long long)seen->member
    print_message(
        "%llu lives, %llu a second: %llu nodes died, %llu stood still, %llu were cut off\n",
        N(lives), (unsigned long long)(seen->lives * HUB_SECOND / (ns + 1)), N(deaths), N(stops),
        N(cuts));
    print_message(
        "%llu claims, %llu of the lead of another node, %llu in the next life; %llu refused; "
        "%llu writes, %llu refused; nobody led for at most %llu ms\n",
        N(claims), N(taken), N(begun_anew), N(refused_claims), N(writes), N(refused_writes),
        N(without_most_ns) / 1000000);
#undef N
}

/* r[verify cluster.lead.term] r[verify cluster.lead.gone] r[verify cluster.lead.claim] r[verify
 * cluster.lead.renew] r[verify cluster.lead.follow] */
static void nothing_happens_in_any_life_that_must_never_be(void **state)
{
    const struct term_world_figures *seen = term_world_figures();
    uint64_t begun = hub_clock_now();
    const char *broken = NULL;

    (void)state;
    for (uint64_t i = 0; i < lives && !broken; i++)
        broken = term_world_live(seed + i, FAULTS);
    print_figures(hub_clock_now() - begun);
    if (broken)
        print_error("%s\n", broken);
    assert_null(broken);
    assert_true(lives < LIVES || (seen->taken > 0 && seen->begun_anew > 0 &&
                                  seen->refused_claims > 0 && seen->refused_writes > 0));
    assert_true(seen->without_most_ns < 30 * HUB_SECOND);
}

/* r[verify cluster.core.pure] */
static void two_lives_of_one_seed_are_the_same(void **state)
{
    uint64_t traces[2];

    (void)state;
    for (int run = 0; run < 2; run++) {
        assert_null(term_world_live(seed, FAULTS));
        traces[run] = term_world_figures()->trace;
    }
    assert_true(traces[0] == traces[1]);
    assert_null(term_world_live(seed + 1, FAULTS));
    assert_true(traces[0] != term_world_figures()->trace);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_in_any_life_that_must_never_be),
        cmocka_unit_test(two_lives_of_one_seed_are_the_same),
    };

    for (int i = 1; i + 1 < argc; i += 2)
        *(strcmp(argv[i], "--seed") == 0 ? &seed : &lives) = strtoull(argv[i + 1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
