/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of several nodes live random lives; nothing that must never be may happen in any.
 * `--lives N` and
 * `--seed N`: how many, from which seed on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/clock.h"
#include "tests/simulation/cluster/peer_world.h"
#include "tests/support/testing.h"

#define LIVES 2000
#define STEPS 300

static uint64_t seed = 1, lives = LIVES;

static void print_figures(uint64_t ns)
{
    const struct peer_world_figures *seen = peer_world_figures();

    print_message("%llu lives, %llu a second, %llu events: %llu calls, %llu sent again, %llu runs, "
                  "%llu deaths, %llu restarts, %llu cuts\n",
                  (unsigned long long)seen->lives,
                  (unsigned long long)(seen->lives * HUB_SECOND / (ns + 1)),
                  (unsigned long long)seen->events, (unsigned long long)seen->calls,
                  (unsigned long long)seen->again, (unsigned long long)seen->runs,
                  (unsigned long long)seen->deaths, (unsigned long long)seen->restarts,
                  (unsigned long long)seen->cuts);
    print_message(
        "frames: %llu, lost %llu, repeated %llu, refused %llu; answers of other nodes %llu\n",
        (unsigned long long)seen->frames, (unsigned long long)seen->lost,
        (unsigned long long)seen->repeated, (unsigned long long)seen->refused,
        (unsigned long long)seen->remote);
    print_message("ends: answered %llu, maybe %llu, deadline %llu, no node %llu, cancelled %llu, "
                  "busy %llu, not local %llu, others %llu\n",
                  (unsigned long long)seen->ended[0], (unsigned long long)seen->ended[1],
                  (unsigned long long)seen->ended[2], (unsigned long long)seen->ended[3],
                  (unsigned long long)seen->ended[4], (unsigned long long)seen->ended[5],
                  (unsigned long long)seen->ended[6], (unsigned long long)seen->ended[7]);
}

/* r[verify cluster.peer.once] r[verify cluster.peer.lineage] r[verify cluster.peer.token]
 * r[verify cluster.peer.lost] r[verify cluster.peer.send] */
static void nothing_happens_in_any_life_that_must_never_be(void **state)
{
    uint64_t begun = hub_clock_now();
    const char *broken = NULL;

    (void)state;
    for (uint64_t i = 0; i < lives && !broken; i++)
        broken = peer_world_live(seed + i, STEPS);
    if (broken)
        print_error("%s\n", broken);
    assert_null(broken);
    print_figures(hub_clock_now() - begun);
    for (int i = 0; i < 5; i++)
        assert_true(lives < LIVES || peer_world_figures()->ended[i] > 0);
}

/* r[verify cluster.core.pure] */
static void two_lives_of_one_seed_are_the_same(void **state)
{
    uint64_t traces[2][3];

    (void)state;
    for (int run = 0; run < 2; run++)
        for (uint64_t i = 0; i < 3; i++) {
            assert_null(peer_world_live(seed + i, STEPS));
            traces[run][i] = peer_world_figures()->trace;
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
