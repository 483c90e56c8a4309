/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon, its warden, a guest, or all of them stand still, as a machine that is
 * suspended does, for longer than anybody waits in silence, from moments on that a seed chooses.
 * Then they go on: nobody was given up, each call is answered, and each was done once.
 *
 * RAPAHUB_TEST_SECONDS: how long they stand still each time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "hub/base/clock.h"
#include "tests/cluster/entering.h"
#include "tests/cluster/node_process.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define SECONDS_SHORT 2
#define LATE_NS       (5 * HUB_SECOND) /* until answers come again */

enum still { DAEMON = 1, WARDEN = 2, GUEST = 4, ALL = DAEMON | WARDEN | GUEST };

static const struct {
    const char *name;
    unsigned who;
} rounds[] = {{"daemon", DAEMON},
              {"warden", WARDEN},
              {"guest", GUEST},
              {"daemon and warden", DAEMON | WARDEN},
              {"all", ALL}};

#define ROUNDS (sizeof rounds / sizeof *rounds)

struct processes {
    pid_t pids[3];
};

static struct processes processes_of(const struct node_process *node, unsigned who)
{
    struct processes of = {{who & DAEMON ? node_process_daemon(node) : 0,
                            who & WARDEN ? node->warden : 0,
                            who & GUEST ? node_process_guest(node, 0) : 0}};

    return of;
}

static void signal_all(const struct processes *of, int number)
{
    for (unsigned i = 0; i < 3; i++)
        if (of->pids[i] > 0)
            assert_int_equal(kill(of->pids[i], number), 0);
}

static void stand_still(const struct node_process *node, unsigned who, uint64_t ns)
{
    const struct processes of = processes_of(node, who);

    signal_all(&of, SIGSTOP);
    pause_ns(ns);
    signal_all(&of, SIGCONT);
}

/* r[verify cluster.call.once] r[verify cluster.client.again] r[verify cluster.warden.restart] */
static void all_goes_on_where_it_stood(void **state)
{
    const char *given = getenv("RAPAHUB_TEST_SEED"), *wanted = getenv("RAPAHUB_TEST_SECONDS");
    uint64_t still_ns = HUB_SECOND * (wanted ? strtoul(wanted, NULL, 10) : SECONDS_SHORT);
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)hub_clock_now(), numbers;
    struct node_process node;
    struct entering entering;
    uint64_t longest_ns;
    pid_t daemon;

    (void)state;
    printf("seed %u\n", seed);
    node_process_open(&node);
    node_process_begin(&node);
    node_process_apply(&node, "pools:\n" ENTERING_POOL);
    entering_begin(&entering, node.address);
    entering_await(&entering, LATE_NS);
    daemon = node_process_daemon(&node);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begun_ns;

        pause_ns((uint64_t)rand_r(&seed) % (100 * HUB_MILLISECOND));
        stand_still(&node, rounds[i].who, still_ns);
        begun_ns = hub_clock_now();
        entering_await(&entering, LATE_NS);
        printf("%s still for %.0f s | answers after %.1f ms\n", rounds[i].name,
               (double)still_ns / 1e9, (double)(hub_clock_now() - begun_ns) / 1e6);
        fflush(stdout);
        assert_int_equal(node_process_daemon(&node), daemon);
    }
    numbers = entering_end(&entering, &longest_ns);
    printf("%u numbers, each once | longest call %.1f ms\n", numbers, (double)longest_ns / 1e6);
    node_process_close(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_goes_on_where_it_stood),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
