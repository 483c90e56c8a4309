/* SPDX-License-Identifier: Apache-2.0 */
/* An acked pool with copies on three nodes while their daemons are killed, and stopped for a while:
 * some clients enter numbers, each once. At the end the state has each number that was answered
 * exactly once, and each other number at most once.
 *
 * RAPAHUB_TEST_KILLS: how many. The seed is printed; RAPAHUB_TEST_SEED repeats a run. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/mesh_stage.h"

#define THREADS      4u
#define CONTAINERS   4u
#define NUMBERS      (1u << 20)
#define KILLS        6u
#define CALL_TIMEOUT UINT64_C(60000000000)

enum fate { NOT_ASKED, ANSWERED, FAILED };

static struct board {
    atomic_bool ends;
    atomic_uint next, answers;
    _Atomic unsigned char fate[NUMBERS];
} board;

struct worker {
    pthread_t thread;
    const char *address;
    int result;
};

static struct rapahub_container_id container_of(struct rapahub_pool_id pool, unsigned number)
{
    return (struct rapahub_container_id){pool, number % CONTAINERS};
}

static void enter(struct rapahub_client *client, struct rapahub_pool_id pool, unsigned number)
{
    const uint64_t entered = number;
    const void *const arguments[] = {&entered};
    const struct rapahub_call call = {.target = container_of(pool, number),
                                      .method = "enter",
                                      .types = RAPAHUB_TYPES(u32, u64),
                                      .arguments = arguments,
                                      .timeout_ns = CALL_TIMEOUT};
    uint32_t version = 0;
    int r = rapahub_client_call(client, &call, &version);

    board.fate[number] = r == 0 ? ANSWERED : FAILED;
    if (r == 0)
        board.answers++;
    else
        fprintf(stderr, "%u: %s: %s\n", number, rapahub_error_name(r), rapahub_last_error()->text);
}

static void *work(void *user)
{
    struct worker *worker = user;
    const char *const nodes[] = {worker->address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    struct rapahub_pool_id pool;
    struct rapahub_client *client;

    worker->result = rapahub_client_open(&options, &client);
    if (worker->result < 0)
        return NULL;
    worker->result = rapahub_client_pool(client, "ledger", &pool);
    while (worker->result == 0 && !board.ends) {
        unsigned number = atomic_fetch_add(&board.next, 1);

        if (number >= NUMBERS)
            break;
        enter(client, pool, number);
    }
    rapahub_client_close(client);
    return NULL;
}

static uint32_t count_of(struct rapahub_client *client, struct rapahub_pool_id pool,
                         unsigned number)
{
    const uint64_t entered = number;
    const void *const arguments[] = {&entered};
    const struct rapahub_call call = {.target = container_of(pool, number),
                                      .method = "count",
                                      .types = RAPAHUB_TYPES(u32, u64),
                                      .arguments = arguments,
                                      .timeout_ns = CALL_TIMEOUT};
    uint32_t count = 0;

    assert_int_equal(rapahub_client_call(client, &call, &count), 0);
    return count;
}

static void check_numbers(const char *address)
{
    const char *const nodes[] = {address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    unsigned failed = 0, lost = 0, doubled = 0, asked = board.next;
    struct rapahub_pool_id pool;
    struct rapahub_client *client;

    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(rapahub_client_pool(client, "ledger", &pool), 0);
    for (unsigned number = 0; number < asked && number < NUMBERS; number++) {
        uint32_t count;

        if (board.fate[number] == NOT_ASKED)
            continue;
        count = count_of(client, pool, number);
        failed += board.fate[number] == FAILED;
        lost += board.fate[number] == ANSWERED && count == 0;
        doubled += count > 1;
    }
    rapahub_client_close(client);
    printf("answered %u | failed %u | lost %u | doubled %u\n", board.answers, failed, lost,
           doubled);
    assert_int_equal(failed + lost + doubled, 0);
}

/* ---- kills ---- */

/* Waits until a call that was made since then is answered. */
static void await_answer(void)
{
    unsigned before = board.answers;

    for (int ms = 0; ms < 60000 && board.answers <= before + THREADS; ms++)
        pause_ms(1);
    assert_true(board.answers > before + THREADS);
}

/* A daemon that stands still is not killed: what it was sent lies there. */
static void stop_for_a_while(const struct node_process *node)
{
    pid_t daemon = node_process_daemon(node);

    if (daemon <= 0)
        return;
    (void)kill(daemon, SIGSTOP);
    pause_ms(200);
    (void)kill(daemon, SIGCONT);
}

static void hit_at_random(struct mesh *mesh, unsigned kill_number, unsigned *seed)
{
    struct node_process *const all[] = {&mesh->joined->second, &mesh->third,
                                        &mesh->joined->stage->first};
    struct node_process *node = all[(unsigned)rand_r(seed) % 3];

    pause_ms(rand_r(seed) % 50);
    if (kill_number % 3 == 2)
        stop_for_a_while(node);
    else
        joined_kill(node);
    await_answer();
    join_await(node);
}

static unsigned seed_of_run(void)
{
    const char *given = getenv("RAPAHUB_TEST_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

    printf("seed %u\n", seed);
    fflush(stdout);
    return seed;
}

/* r[verify cluster.copy.acked] r[verify cluster.copy.ship] r[verify cluster.copy.taken] */
static void nothing_is_lost_on_three_nodes(void **state)
{
    static const char pools[] = "pools:\n  - pool_name: ledger\n    module: " TEST_PREFIX
                                "/tests/modules/ledger.so\n    containers: 4\n"
                                "    durability: acked\n    copies: 3\n    min_copies: 3\n"
                                "    placement: {nodes: [1, 2, 3]}\n";
    struct mesh *mesh = *state;
    struct node_process *first = &mesh->joined->stage->first;
    struct worker workers[THREADS];
    const char *given = getenv("RAPAHUB_TEST_KILLS");
    unsigned seed = seed_of_run(), kills = given ? (unsigned)strtoul(given, NULL, 10) : KILLS;

    mesh_push(first, TEST_PREFIX "/tests/modules/ledger.so");
    node_process_apply(first, pools);
    AWAIT(first, "\"short\":0", "get", "pools", "--json");
    AWAIT(&mesh->joined->second, "\"short\":0", "get", "pools", "--json");
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].address = i % 2 == 0 ? first->address : mesh->joined->second.address;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < kills; i++)
        hit_at_random(mesh, i, &seed);
    board.ends = true;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].result, 0);
    }
    check_numbers(first->address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_lost_on_three_nodes, mesh_begin, mesh_end)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
