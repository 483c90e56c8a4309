/* SPDX-License-Identifier: Apache-2.0 */
/* Several nodes, one of which leads, live random lives; nothing that must never be may happen in
 * any. `--lives N` and `--seed N`: how many, from which seed on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/base/ids.h"
#include "hub/base/clock.h"
#include "tests/simulation/cluster/lead_world.h"
#include "tests/support/testing.h"

#define LIVES 2000
#define STEPS 500

static uint64_t seed = 1, lives = LIVES;

/* An epoch has three lives here, so that they are used up. */
uint64_t __real_cluster_ids_next_life(uint64_t token);
uint64_t __wrap_cluster_ids_next_life(uint64_t token);
uint64_t __wrap_cluster_ids_next_life(uint64_t token)
{
    return cluster_ids_life(token) < 2 ? __real_cluster_ids_next_life(token) : 0;
}

static void print_figures(uint64_t ns)
{
    const struct lead_world_figures *seen = lead_world_figures();

#define N(member) (unsigned long long)seen->member
    print_message("%llu lives, %llu a second, %llu events: %llu orders, %llu refused, %llu ended, "
                  "%llu nodes died, %llu that led, %llu readings\n",
                  N(lives), (unsigned long long)(seen->lives * HUB_SECOND / (ns + 1)), N(events),
                  N(orders), N(refused), N(ended), N(restarts), N(leaders), N(readings));
    print_message(
        "%llu reports: %llu lost, %llu repeated, %llu stale, %llu forged; %llu links cut; "
        "%llu transactions, %llu conflicts, %llu late; another one led %llu times\n",
        N(reports), N(lost), N(repeated), N(stale), N(forged), N(cuts), N(transactions),
        N(conflicts), N(late), N(deposed));
    print_message("%llu begins, %llu of them on other nodes: %llu failed, %llu deaths, %llu "
                  "removals, %llu quarantined\n",
                  N(begins), N(away), N(failed_begins), N(deaths), N(removals), N(quarantined));
    print_message("done: %llu created, %llu deleted, %llu released; aborted: %llu, %llu, %llu\n",
                  N(done[1]), N(done[2]), N(done[3]), N(aborted[1]), N(aborted[2]), N(aborted[3]));
#undef N
}

/* r[verify cluster.lead.writes] r[verify cluster.lead.term] r[verify cluster.step.done] r[verify
 * cluster.step.again] r[verify cluster.step.checked] r[verify cluster.restart.epoch] r[verify
 * cluster.release.container] r[verify cluster.delete.all] r[verify cluster.create.whole] */
static void nothing_happens_in_any_life_that_must_never_be(void **state)
{
    const struct lead_world_figures *seen = lead_world_figures();
    uint64_t begun = hub_clock_now();
    const char *broken = NULL;

    (void)state;
    for (uint64_t i = 0; i < lives && !broken; i++)
        broken = lead_world_live(seed + i, STEPS);
    print_figures(hub_clock_now() - begun);
    if (broken)
        print_error("%s\n", broken);
    assert_null(broken);
    for (int kind = 1; kind < 4; kind++)
        assert_true(lives < LIVES || seen->done[kind] > 0);
    assert_true(lives < LIVES || (seen->aborted[1] > 0 && seen->aborted[3] > 0));
    assert_true(lives < LIVES || seen->quarantined > 0);
}

/* r[verify cluster.core.pure] */
static void two_lives_of_one_seed_are_the_same(void **state)
{
    uint64_t traces[2][3];

    (void)state;
    for (int run = 0; run < 2; run++)
        for (uint64_t i = 0; i < 3; i++) {
            assert_null(lead_world_live(seed + i, STEPS));
            traces[run][i] = lead_world_figures()->trace;
        }
    assert_memory_equal(traces[0], traces[1], sizeof traces[0]);
    assert_true(traces[0][0] != traces[0][1] && traces[0][1] != traces[0][2]);
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
