/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that answers wait for, in random lives of a node. `--lives N` and `--seed N`: how many,
 * from which seed on. */
#include <stdlib.h>
#include <string.h>

#include "tests/simulation/cluster/node_copies.h"
#include "tests/support/testing.h"

#define LIVES 600
#define STEPS 1500

static uint64_t seed = 1, lives = LIVES;

/* r[verify cluster.copy.acked] r[verify cluster.copy.nested] r[verify cluster.copy.rollback]
 * r[verify cluster.copy.life] */
static void what_was_answered_is_kept_once(void **state)
{
    const struct node_copies_figures *seen = node_copies_figures();
    const char *broken = NULL;

    (void)state;
    for (uint64_t i = 0; i < lives && !broken; i++)
        broken = node_copies_live(seed + i, STEPS);
    if (broken)
        print_error("%s\n", broken);
    assert_null(broken);
    print_message(
        "%llu lives, %llu events: %llu calls, %llu answered, %llu nested, %llu sent again\n",
        (unsigned long long)seen->lives, (unsigned long long)seen->events,
        (unsigned long long)seen->calls, (unsigned long long)seen->answered,
        (unsigned long long)seen->nested, (unsigned long long)seen->again);
    print_message(
        "%llu copies, %llu of changes, %llu failed, %llu loaded; deaths of guests %llu, of "
        "daemons %llu\n",
        (unsigned long long)seen->copies, (unsigned long long)seen->changes,
        (unsigned long long)seen->failed, (unsigned long long)seen->restored,
        (unsigned long long)seen->deaths, (unsigned long long)seen->daemons);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_answered_is_kept_once)};

    for (int i = 1; i + 1 < argc; i += 2)
        *(strcmp(argv[i], "--seed") == 0 ? &seed : &lives) = strtoull(argv[i + 1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
