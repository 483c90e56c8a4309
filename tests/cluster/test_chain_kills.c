/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of acked containers to acked containers, in guests of their own and in one guest, there and
 * there and back. The guest or the daemon of the first one is killed when the call that it made has
 * been answered and its own has not. The call runs again then, and what it called does not. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/node_process.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define SECOND       UINT64_C(1000000000)
#define CALL_TIMEOUT (60 * SECOND)
#define END_MAX_NS   (15 * SECOND) /* far below the deadline */

enum shape { THERE, THERE_AND_BACK, SHAPES };
enum victim { GUEST, DAEMON, VICTIMS };

static const char *const pool_names[] = {"apart", "together"};
static const char *const shape_names[SHAPES] = {"A calls B", "A calls B calls A"};
static const char *const victim_names[VICTIMS] = {"guest of A", "daemon"};

#define POOLS 2

struct asked {
    struct rapahub_client *client;
    struct rapahub_pool_id pool;
    enum shape shape;
    uint64_t number;
    char path[NODE_PROCESS_PATH + 32];
    int result;
    uint64_t took_ns;
    char text[256];
};

struct run {
    struct node_process node;
    struct rapahub_client *client;
    struct rapahub_pool_id pools[POOLS];
    uint64_t number;
};

struct counts {
    unsigned rounds, failed, late, lost, doubled, lost_inside;
    uint64_t max_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static int call(struct rapahub_client *client, struct rapahub_container_id target,
                const char *method, const void *const *arguments, void *result)
{
    const struct rapahub_call call = {
        .target = target, .method = method, .arguments = arguments, .timeout_ns = CALL_TIMEOUT};

    return rapahub_client_call(client, &call, result);
}

static uint64_t number_of(struct rapahub_pool_id pool)
{
    return (uint64_t)pool.major << 32 | pool.minor;
}

/* A is container 0 of the pool, B is container 1. */
static void *ask(void *user)
{
    struct asked *asked = user;
    const struct rapahub_container_id first = {asked->pool, 0};
    const struct rapahub_string path = rapahub_string_of(asked->path);
    uint64_t pool = number_of(asked->pool), way = UINT64_C(1) << 32, began = now_ns();
    uint32_t second = 1;

    if (asked->shape == THERE)
        asked->result =
            call(asked->client, first, "relay(u64, u32, u64, string) -> void",
                 (const void *const[]){&pool, &second, &asked->number, &path, NULL}, NULL);
    else
        asked->result = call(asked->client, first, "round(u64, u64, u64, string) -> void",
                             (const void *const[]){&pool, &way, &asked->number, &path, NULL}, NULL);
    asked->took_ns = now_ns() - began;
    if (asked->result < 0)
        snprintf(asked->text, sizeof asked->text, "%s: %s", rapahub_error_name(asked->result),
                 rapahub_last_error()->text);
    return NULL;
}

static uint32_t count_of(struct run *run, struct rapahub_container_id target, uint64_t number)
{
    uint32_t count = 0;

    assert_int_equal(call(run->client, target, "count(u64) -> u32",
                          (const void *const[]){&number, NULL}, &count),
                     0);
    return count;
}

static int32_t pid_of(struct run *run, struct rapahub_container_id target)
{
    int32_t pid = 0;

    assert_int_equal(call(run->client, target, "pid() -> i32", NULL, &pid), 0);
    return pid;
}

static bool is_there(void *user)
{
    return access(user, F_OK) == 0;
}

static bool kill_the_daemon(void *user)
{
    return node_process_kill_daemon(user);
}

static void kill_one(struct run *run, enum victim victim, int32_t pid)
{
    if (victim == GUEST)
        assert_int_equal(kill(pid, SIGKILL), 0);
    else
        assert_true(process_until(kill_the_daemon, &run->node, 30 * SECOND));
}

/* What the round left behind: every number once, in A and, as it was called, in B. The one that A
 * entered for B has no copy of its own, so a death of A between may take it away. */
static void check(struct run *run, const struct asked *asked, struct counts *counts)
{
    const struct rapahub_container_id first = {asked->pool, 0}, second = {asked->pool, 1};
    bool back = asked->shape == THERE_AND_BACK;
    uint32_t a = count_of(run, first, asked->number);
    uint32_t b = count_of(run, second, back ? asked->number + 1 : asked->number);

    if (asked->result != 0)
        fprintf(stderr, "%" PRIu64 ": %s\n", asked->number, asked->text);
    counts->rounds++;
    counts->failed += asked->result != 0;
    counts->late += asked->took_ns > END_MAX_NS;
    counts->lost += a == 0 || b == 0;
    counts->doubled += a > 1 || b > 1;
    if (back) {
        uint32_t inner = count_of(run, first, asked->number + 1);

        counts->lost_inside += inner == 0;
        counts->doubled += inner > 1;
    }
    if (asked->took_ns > counts->max_ns)
        counts->max_ns = asked->took_ns;
}

static void one_round(struct run *run, struct rapahub_pool_id pool, enum shape shape,
                      enum victim victim, struct counts *counts)
{
    struct asked asked = {
        .client = run->client, .pool = pool, .shape = shape, .number = run->number};
    int32_t pid = pid_of(run, (struct rapahub_container_id){pool, 0});
    pthread_t thread;

    run->number += 2;
    snprintf(asked.path, sizeof asked.path, "%.400s/at.%" PRIu64, run->node.folder, asked.number);
    assert_int_equal(pthread_create(&thread, NULL, ask, &asked), 0);
    assert_true(process_until(is_there, asked.path, 30 * SECOND));
    kill_one(run, victim, pid);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check(run, &asked, counts);
}

static void one_row(struct run *run, unsigned pool, enum shape shape, enum victim victim,
                    unsigned rounds)
{
    struct counts counts = {0};

    for (unsigned i = 0; i < rounds; i++)
        one_round(run, run->pools[pool], shape, victim, &counts);
    printf("%s, %s | %s killed | %u rounds | failed %u | late %u | lost %u | doubled %u"
           " | lost inside %u | max %.0f ms\n",
           shape_names[shape], pool_names[pool], victim_names[victim], counts.rounds, counts.failed,
           counts.late, counts.lost, counts.doubled, counts.lost_inside,
           (double)counts.max_ns / 1e6);
    fflush(stdout);
    assert_int_equal(counts.failed + counts.late + counts.lost + counts.doubled, 0);
}

static void begin(struct run *run)
{
    static const char pools[] =
        "pools:\n"
        "  - pool_name: apart\n"
        "    module: " TEST_PREFIX "/tests/modules/chained.so\n"
        "    containers: 2\n"
        "    guests: own\n"
        "    durability: acked\n"
        "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n"
        "  - pool_name: together\n"
        "    module: " TEST_PREFIX "/tests/modules/chained.so\n"
        "    containers: 2\n"
        "    durability: acked\n"
        "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n";
    const char *const nodes[] = {run->node.address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};

    node_process_open(&run->node);
    run->node.option = "--warden-reset-after=1ms"; /* it begins again at once */
    node_process_begin(&run->node);
    node_process_apply(&run->node, pools);
    assert_int_equal(rapahub_client_open(&options, &run->client), 0);
    for (unsigned i = 0; i < POOLS; i++)
        assert_int_equal(rapahub_client_pool(run->client, pool_names[i], &run->pools[i]), 0);
}

/* r[verify cluster.call.nested] r[verify cluster.copy.nested] */
static void what_was_called_does_not_run_again(void **state)
{
    const char *wanted = getenv("RAPAHUB_TEST_KILLS");
    unsigned rounds = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1;
    static struct run run;

    (void)state;
    begin(&run);
    for (unsigned pool = 0; pool < POOLS; pool++)
        for (unsigned shape = 0; shape < SHAPES; shape++)
            for (unsigned victim = 0; victim < VICTIMS; victim++)
                one_row(&run, pool, (enum shape)shape, (enum victim)victim, rounds);
    rapahub_client_close(run.client);
    node_process_close(&run.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_called_does_not_run_again),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
