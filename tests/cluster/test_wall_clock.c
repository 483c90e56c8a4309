/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody sets the wall clock, an hour forward or back, again and again, while a node takes calls,
 * makes copies of states, writes its log and waits for times to come: nothing comes of it. Daemon,
 * warden and clients read a clock that the test sets; a guest is told no such variable.
 *
 * RAPAHUB_TEST_ROUNDS: how often it is set. */
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "tests/cluster/entering.h"
#include "tests/cluster/node_process.h"
#include "tests/support/clock_page.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define HOUR        (3600 * (int64_t)HUB_SECOND)
#define STEPS_SHORT 60
#define STEP_NS     (50 * HUB_MILLISECOND) /* from one to the next, at most */
#define SLOW_NS     (500 * HUB_MILLISECOND)
#define LATE_NS     (2 * HUB_SECOND)

static unsigned seed;

static void step(void)
{
    clock_page_set_wall(rand_r(&seed) % 2 == 0 ? HOUR : -HOUR);
}

/* The method makes a file and waits far longer than it may. */
static void a_call_ends_at_its_deadline(const struct node_process *node)
{
    const char *const nodes[] = {node->address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    const uint64_t number = 1;
    char file[NODE_PROCESS_PATH + 8];
    struct rapahub_string path;
    struct rapahub_call call = {.method = "note(u64, string)",
                                .arguments = (const void *const[]){&number, &path, NULL},
                                .timeout_ns = SLOW_NS};
    struct rapahub_client *client;
    uint64_t begun_ns, took_ns;
    int r;

    snprintf(file, sizeof file, "%s/slow", node->folder);
    path = rapahub_string_of(file);
    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(rapahub_client_pool(client, "slow", &call.target.pool), 0);
    begun_ns = hub_clock_now();
    r = rapahub_client_call(client, &call, NULL);
    took_ns = hub_clock_now() - begun_ns;
    rapahub_client_close(client);
    assert_int_equal(r, RAPAHUB_ETIMEDOUT);
    assert_true(took_ns >= SLOW_NS / 2 && took_ns < LATE_NS);
}

/* In a thread: steps come while the main one waits for a deadline. */
static void *step_for_a_while(void *user)
{
    const unsigned *steps = user;

    for (unsigned i = 0; i < *steps; i++) {
        step();
        pause_ns((uint64_t)rand_r(&seed) % STEP_NS);
    }
    return NULL;
}

static void begin(struct node_process *node)
{
    setenv(CLOCK_PAGE_FILE, clock_page_open(), 1);
    setenv("LD_PRELOAD", TEST_PREFIX "/tests/modules/clock_page.so", 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
    node_process_open(node);
    node_process_begin(node);
    node_process_apply(node, "pools:\n" ENTERING_POOL "  - pool_name: slow\n"
                             "    module: " TEST_PREFIX "/tests/modules/chained.so\n"
                             "    durability: none\n");
}

static void end(struct node_process *node)
{
    node_process_close(node);
    unsetenv("LD_PRELOAD");
    unsetenv(CLOCK_PAGE_FILE);
    clock_page_close();
}

/* A node that begins again two hours before it died. */
static void begin_again_earlier(struct node_process *node)
{
    clock_page_set_wall(-2 * HOUR);
    while (!node_process_kill_warden(node, true))
        pause_ms(1);
}

/* r[verify cluster.call.once] r[verify cluster.retry.flow] r[verify cluster.warden.restart] */
static void nothing_follows_the_wall_clock(void **state)
{
    const char *given = getenv("RAPAHUB_TEST_SEED"), *wanted = getenv("RAPAHUB_TEST_ROUNDS");
    unsigned steps = wanted ? (unsigned)strtoul(wanted, NULL, 10) : STEPS_SHORT, numbers;
    struct node_process node;
    struct entering entering;
    uint64_t longest_ns;
    pthread_t stepping;
    pid_t daemon;

    (void)state;
    seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)hub_clock_now();
    printf("seed %u\n", seed);
    begin(&node);
    entering_begin(&entering, node.address);
    daemon = node_process_daemon(&node);
    assert_int_equal(pthread_create(&stepping, NULL, step_for_a_while, &steps), 0);
    a_call_ends_at_its_deadline(&node);
    assert_true(node_process_kill_guest(&node, 0));
    entering_await(&entering, LATE_NS);
    assert_int_equal(pthread_join(stepping, NULL), 0);
    assert_int_equal(node_process_daemon(&node), daemon);
    begin_again_earlier(&node);
    entering_await(&entering, 10 * HUB_SECOND);
    numbers = entering_end(&entering, &longest_ns);
    printf("wall clock set %u times | %u numbers, each once | longest call %.1f ms\n", steps,
           numbers, (double)longest_ns / 1e6);
    end(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_follows_the_wall_clock),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
