/* SPDX-License-Identifier: Apache-2.0 */
/* How soon dead nodes are found, and how rarely living ones are held for dead, by many detectors in
 * a simulated network. Each line: a gate, and the figure. `--long`: more kills, seeds and nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/random.h"
#include "tests/simulation/cluster/swim_world.h"
#include "tests/support/testing.h"

#define SAMPLES_MAX 4096

static uint64_t seed = 1;
static bool all; /* of the long run */

static const struct cluster_swim_options lan = {CLUSTER_SWIM_LAN}, fast = {CLUSTER_SWIM_FAST},
                                         plain = {CLUSTER_SWIM_SEED};

struct samples {
    uint64_t ns[SAMPLES_MAX];
    uint32_t count;
};

/* First suspicions do not depend on the number of nodes: all of them together, in periods. */
static struct samples all_suspected;

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

static void sort(struct samples *samples)
{
    qsort(samples->ns, samples->count, sizeof *samples->ns, compare);
}

static double in_periods(const struct samples *samples, uint32_t per_cent,
                         const struct cluster_swim_options *options)
{
    uint32_t at = samples->count * per_cent / 100;

    at = at < samples->count ? at : samples->count - 1;
    return (double)samples->ns[at] / (double)options->period_ns;
}

/* The logarithm that gates speak of, at least 1. */
static double log10_of(uint32_t nodes)
{
    static const struct {
        uint32_t nodes;
        double log;
    } known[] = {{8, 1}, {16, 1.204}, {32, 1.505}, {128, 2.107}, {512, 2.709}, {1024, 3.010}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].nodes == nodes)
            return known[i].log;
    fail_msg("no logarithm of %u", nodes);
    return 0;
}

/* ---- how soon ---- */

static bool wait_for(struct swim_world *world, bool (*is_so)(struct swim_world *, uint32_t),
                     uint32_t node, uint64_t most_ns)
{
    uint64_t end_ns = swim_world_now(world) + most_ns;

    while (!is_so(world, node) && swim_world_now(world) < end_ns)
        swim_world_run(world, 20 * SWIM_MS);
    return is_so(world, node);
}

static bool is_dead_to_all(struct swim_world *world, uint32_t node)
{
    return swim_world_all_hold(world, node, CLUSTER_MEMBER_DEAD);
}

static bool is_alive_to_all(struct swim_world *world, uint32_t node)
{
    return swim_world_all_hold(world, node, CLUSTER_MEMBER_ALIVE);
}

/* Kills one node after another, and begins each again. */
static void kill_nodes(uint32_t nodes, const struct cluster_swim_options *options, uint32_t kills,
                       struct samples *suspected, struct samples *known)
{
    struct swim_world *world = swim_world_make(nodes, options, seed + nodes);
    struct hub_random random;

    hub_random_init(&random, seed);
    for (uint32_t i = 0; i < kills; i++) {
        uint32_t node = 1 + (uint32_t)hub_random_below(&random, nodes);
        uint64_t then;

        swim_world_run(world, hub_random_below(&random, 3 * options->period_ns));
        then = swim_world_now(world);
        swim_world_kill(world, node);
        assert_true(wait_for(world, is_dead_to_all, node, 2000 * SWIM_SECOND));
        known->ns[known->count++] = swim_world_now(world) - then;
        suspected->ns[suspected->count++] = swim_world_figures(world)->suspected_first - then;
        swim_world_begin_again(world, node);
        assert_true(wait_for(world, is_alive_to_all, node, 30 * SWIM_SECOND));
    }
    assert_int_equal(swim_world_figures(world)->false_deaths, 0);
    for (uint32_t i = 0; options->suspicion_ns == 0 && i < kills; i++)
        all_suspected.ns[all_suspected.count++] =
            suspected->ns[i] * SWIM_SECOND / options->period_ns;
    sort(suspected);
    sort(known);
    swim_world_free(world);
}

static void detect(const char *name, uint32_t nodes, const struct cluster_swim_options *options,
                   uint32_t kills)
{
    struct samples *suspected = calloc(1, sizeof *suspected), *known = calloc(1, sizeof *known);
    double least = options->alpha * log10_of(nodes);
    double gate = least + 3 * log10_of(nodes) + 4;

    assert_non_null(suspected);
    assert_non_null(known);
    kill_nodes(nodes, options, kills, suspected, known);
    print_message("SW-1 %-4s N %4u | %3u kills | first suspicion p50 %4.1f T p99 %4.1f T\n", name,
                  nodes, kills, in_periods(suspected, 50, options),
                  in_periods(suspected, 99, options));
    print_message("SW-2 %-4s N %4u | all know p50 %4.1f s | p99 %5.1f T (%.1f)\n", name, nodes,
                  in_periods(known, 50, options) * (double)options->period_ns / 1e9,
                  in_periods(known, 99, options), gate);
    if (options->suspicion_ns == 0)
        assert_true(in_periods(known, 99, options) <= gate);
    free(suspected);
    free(known);
}

/* r[verify cluster.swim.probe] r[verify cluster.swim.suspicion] r[verify cluster.swim.gossip] */
static void a_dead_node_is_soon_known_to_all(void **state)
{
    (void)state;
    detect("lan", 8, &lan, all ? 900 : 300);
    detect("lan", 32, &lan, all ? 900 : 200);
    detect("lan", 128, &lan, all ? 300 : 60);
    detect("fast", 32, &fast, all ? 900 : 200);
    if (all) {
        detect("lan", 512, &lan, 40);
        detect("lan", 1024, &lan, 20);
        detect("fast", 1024, &fast, 20);
    }
    sort(&all_suspected);
    print_message(
        "SW-1 all          | %4u kills | first suspicion p50 %.1f T (2.5) p99 %.1f T (6)\n",
        all_suspected.count, in_periods(&all_suspected, 50, &lan),
        in_periods(&all_suspected, 99, &lan));
    assert_true(in_periods(&all_suspected, 50, &lan) <= 2.5);
    assert_true(in_periods(&all_suspected, 99, &lan) <= 6);
    detect("seed", 32, &plain, all ? 60 : 6); /* its constants, for comparison; no gate */
}

/* ---- what it costs ---- */

/* r[verify cluster.swim.probe] r[verify cluster.swim.pushpull] */
static void a_steady_cluster_says_little(void **state)
{
    const uint32_t nodes = 64, seconds = 120;
    struct swim_world *world = swim_world_make(nodes, &lan, seed);
    const struct swim_figures *figures = swim_world_figures(world);
    double datagrams, bytes;

    (void)state;
    swim_world_run(world, seconds * SWIM_SECOND);
    datagrams = (double)figures->sent / nodes / seconds;
    bytes = (double)figures->bytes / nodes / seconds;
    print_message(
        "SW-3 lan N %u | datagrams a node and T %.2f (2 +- 5 %%) | bytes a node and T %.0f (240)\n",
        nodes, datagrams, bytes);
    assert_true(datagrams >= 1.9 && datagrams <= 2.1);
    assert_true(bytes <= 240);
    swim_world_free(world);
}

/* ---- false deaths ---- */

static uint64_t false_deaths(uint32_t nodes, uint32_t per_mille, uint32_t stalled, uint32_t seconds,
                             uint64_t of_seed)
{
    struct swim_world *world = swim_world_make(nodes, &lan, of_seed);
    uint64_t deaths;

    swim_world_lose(world, per_mille);
    swim_world_run(world, 5 * SWIM_SECOND);
    for (uint32_t i = 1; i <= stalled; i++)
        swim_world_stall(world, i, 4 * SWIM_SECOND, 5 * SWIM_MS);
    swim_world_run(world, seconds * SWIM_SECOND);
    deaths = swim_world_figures(world)->false_deaths;
    swim_world_free(world);
    return deaths;
}

/* r[verify cluster.swim.health] r[verify cluster.swim.stall] */
static void a_living_node_is_not_held_for_dead(void **state)
{
    const uint32_t nodes = 128, seeds = all ? 20 : 2, seconds = all ? 600 : 200;
    uint64_t few = 0, many = 0, stalled = 0;

    (void)state;
    for (uint32_t i = 0; i < seeds; i++) {
        few += false_deaths(nodes, 50, 0, seconds, seed + i);
        many += false_deaths(nodes, 200, 0, seconds, seed + i);
    }
    for (uint32_t i = 0; i < (all ? 3 : 1); i++)
        stalled += false_deaths(nodes, 0, 16, all ? 300 : 100, seed + i);
    print_message(
        "SW-4 lan N %u | %u seeds of %u s | loss 5 %%: %llu (0) | loss 20 %%: %.2f in 10^5 node "
        "seconds (1) | 16 of them stopped for 4 s, running 5 ms: %llu (0)\n",
        nodes, seeds, seconds, (unsigned long long)few,
        (double)many * 1e5 / ((double)seeds * seconds * nodes), (unsigned long long)stalled);
    assert_int_equal(few, 0);
    assert_true((double)many * 1e5 <= (double)seeds * seconds * nodes);
    assert_int_equal(stalled, 0);
}

/* ---- after a cut ---- */

static bool views_are_equal(struct swim_world *world, uint32_t node)
{
    (void)node;
    return swim_world_views_are_equal(world);
}

static void heal(uint32_t nodes, uint32_t rounds)
{
    double worst = 0, gate = 3 * log10_of(nodes);

    for (uint32_t round = 0; round < rounds; round++) {
        struct swim_world *world = swim_world_make(nodes, &lan, seed + round);
        uint64_t then;

        for (uint32_t i = 1; i <= nodes; i += 2)
            swim_world_put(world, i, 1);
        swim_world_run(world, 120 * SWIM_SECOND);
        assert_int_equal(cluster_swim_state(swim_world_node(world, 1), 2), CLUSTER_MEMBER_DEAD);
        for (uint32_t i = 1; i <= nodes; i++)
            swim_world_put(world, i, 0);
        then = swim_world_now(world);
        assert_true(wait_for(world, views_are_equal, 0, 300 * SWIM_SECOND));
        if ((double)(swim_world_now(world) - then) / 1e9 > worst)
            worst = (double)(swim_world_now(world) - then) / 1e9;
        swim_world_free(world);
    }
    print_message(
        "SW-5 lan N %3u | %u cuts into halves | views equal after at most %.2f T (%.1f)\n", nodes,
        rounds, worst, gate);
    assert_true(worst <= gate);
}

/* r[verify cluster.swim.incarnation] r[verify cluster.swim.verdict] */
static void after_a_cut_all_hold_the_same(void **state)
{
    (void)state;
    heal(8, all ? 100 : 20);
    heal(32, all ? 50 : 10);
    heal(128, all ? 20 : 2);
}

/* r[verify cluster.swim.left] */
static void one_that_leaves_is_not_suspected(void **state)
{
    struct swim_world *world = swim_world_make(16, &lan, seed);

    (void)state;
    swim_world_run(world, 5 * SWIM_SECOND);
    swim_world_leave(world, 7);
    swim_world_run(world, 3 * SWIM_SECOND);
    assert_true(swim_world_all_hold(world, 7, CLUSTER_MEMBER_LEFT));
    swim_world_kill(world, 7);
    swim_world_run(world, 60 * SWIM_SECOND);
    assert_true(swim_world_all_hold(world, 7, CLUSTER_MEMBER_LEFT));
    assert_int_equal(swim_world_figures(world)->suspected_first, 0);
    swim_world_begin_again(world, 7);
    swim_world_run(world, SWIM_SECOND);
    assert_true(swim_world_views_are_equal(world));
    swim_world_free(world);
}

/* r[verify cluster.core.pure] */
static void two_worlds_of_one_seed_are_the_same(void **state)
{
    uint64_t traces[3];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct swim_world *world = swim_world_make(16, &lan, seed + i / 2);

        swim_world_lose(world, 100);
        swim_world_run(world, 20 * SWIM_SECOND);
        swim_world_kill(world, 3);
        swim_world_run(world, 20 * SWIM_SECOND);
        traces[i] = swim_world_figures(world)->trace;
        swim_world_free(world);
    }
    assert_true(traces[0] == traces[1]);
    assert_true(traces[0] != traces[2]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_node_is_soon_known_to_all),
        cmocka_unit_test(a_steady_cluster_says_little),
        cmocka_unit_test(a_living_node_is_not_held_for_dead),
        cmocka_unit_test(after_a_cut_all_hold_the_same),
        cmocka_unit_test(one_that_leaves_is_not_suspected),
        cmocka_unit_test(two_worlds_of_one_seed_are_the_same),
    };

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0)
            all = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
