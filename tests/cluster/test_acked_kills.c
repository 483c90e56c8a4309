/* SPDX-License-Identifier: Apache-2.0 */
/* An acked pool while processes are killed: six clients of this program and two in processes of
 * their own, which are killed and started again, enter numbers, each once. Every other one calls by
 * shared memory, the rest by the socket, or with RAPAHUB_TEST_TLS over the network. At the end the
 * state has each number that was answered exactly once, and each other number at most once.
 *
 * RAPAHUB_TEST_KILLS: how many of each kind; or five numbers with commas between them, for guests,
 * daemons, daemons with their wardens, wardens, clients. The seed is printed; RAPAHUB_TEST_SEED
 * repeats a run. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/cluster/network_stage.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define NUMBERS     (1u << 22)
#define THREADS     6u
#define PROCESSES   2u
#define CLIENTS     (THREADS + PROCESSES)
#define KILLS_SHORT 4u /* of each kind */
#define SECOND      UINT64_C(1000000000)
/* From a kill to the next answer. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NEXT_MAX_NS (10 * SECOND)
#else
#define NEXT_MAX_NS (2 * SECOND)
#endif
#define LEFT_NS      UINT64_C(2000000)
#define GAPS_MAX     8192u
#define CALL_TIMEOUT (30 * SECOND)

enum fate { NOT_ASKED, ASKED, ANSWERED, FAILED, MAYBE };

/* Shared by all processes of the test. */
struct board {
    atomic_bool ends;
    atomic_uint_fast64_t answered_ns, answers;
    atomic_uint next[CLIENTS]; /* the last number that it asked for, times CLIENTS */
    _Atomic unsigned char fate[NUMBERS];
};

static struct board *board;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* ---- a client ---- */

static void enter(struct rapahub_client *client, struct rapahub_container_id ledger,
                  uint64_t number)
{
    const void *const arguments[] = {&number};
    const struct rapahub_call call = {.target = ledger,
                                      .method = "enter",
                                      .types = RAPAHUB_TYPES(u32, u64),
                                      .arguments = arguments,
                                      .timeout_ns = CALL_TIMEOUT};
    uint32_t version = 0;
    int r;

    board->fate[number] = ASKED;
    r = rapahub_client_call(client, &call, &version);
    if (r == 0) {
        board->fate[number] = ANSWERED;
        board->answers++;
        board->answered_ns = now_ns();
    } else {
        fprintf(stderr, "%" PRIu64 ": %s: %s\n", number, rapahub_error_name(r),
                rapahub_last_error()->text);
        board->fate[number] = r == RAPAHUB_EMAYBE ? MAYBE : FAILED;
    }
}

/* After each death of the node shared memory is there again. */
static int await_transport(const struct rapahub_client *client,
                           enum rapahub_client_transport transport)
{
    for (int ms = 0; ms < 5000; ms++) {
        if (rapahub_client_current_transport(client) == transport)
            return 0;
        pause_ms(1);
    }
    return -1;
}

static int work(const char *address, unsigned index)
{
    const char *const nodes[] = {address, NULL};
    const struct rapahub_client_options options = {
        .nodes = nodes,
        .tls = getenv("RAPAHUB_CLIENT_TLS"),
        .transport = index % 2 == 0 ? RAPAHUB_CLIENT_SHARED_MEMORY : RAPAHUB_CLIENT_SOCKET};
    struct rapahub_container_id ledger = {{0, 0}, 0};
    struct rapahub_client *client;
    int r = rapahub_client_open(&options, &client);

    if (r < 0)
        return r;
    r = rapahub_client_pool(client, "ledger", &ledger.pool);
    while (r == 0 && !board->ends) {
        unsigned number = atomic_fetch_add(&board->next[index], 1) * CLIENTS + index;

        if (number >= NUMBERS)
            break;
        enter(client, ledger, number);
    }
    if (r == 0)
        r = await_transport(client, options.transport);
    rapahub_client_close(client);
    return r;
}

struct worker {
    pthread_t thread;
    const char *address;
    unsigned index;
    int result;
};

static void *work_on(void *user)
{
    struct worker *worker = user;

    worker->result = work(worker->address, worker->index);
    return NULL;
}

/* ---- the other processes ---- */

extern char **environ;

static pid_t begin_client(int fd, const char *address, unsigned index)
{
    char program[] = "/proc/self/exe", option[] = "--client", board_fd[16], number[16];
    char *const words[] = {program, option, board_fd, (char *)(uintptr_t)address, number, NULL};
    pid_t pid;

    snprintf(board_fd, sizeof board_fd, "%d", fd);
    snprintf(number, sizeof number, "%u", index);
    assert_int_equal(posix_spawn(&pid, words[0], NULL, NULL, words, environ), 0);
    return pid;
}

static void map_board(int fd)
{
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(board != MAP_FAILED);
}

static int be_client(char **words)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
    map_board((int)strtol(words[2], NULL, 10));
    return work(words[3], (unsigned)strtoul(words[4], NULL, 10)) == 0 ? 0 : 1;
}

/* ---- kills ---- */

enum kind { GUEST, DAEMON, BOTH, WARDEN, CLIENT, KINDS };

static const char *const kind_names[KINDS] = {"guest", "daemon", "daemon and warden", "warden",
                                              "client"};

struct run {
    struct network network;
    bool by_tls; /* so call those that do not by shared memory */
    struct worker workers[THREADS];
    pid_t clients[PROCESSES];
    int fd;
    uint64_t gaps[KINDS][GAPS_MAX];
    unsigned kills[KINDS];
};

static const char *address_of(const struct run *run, unsigned index)
{
    return index % 2 == 0 || !run->by_tls ? run->network.local : run->network.node.address;
}

static bool kill_client(struct run *run)
{
    unsigned which = run->kills[CLIENT] % PROCESSES;

    assert_int_equal(kill(run->clients[which], SIGKILL), 0);
    assert_int_equal(waitpid(run->clients[which], NULL, 0), run->clients[which]);
    run->clients[which] = begin_client(run->fd, address_of(run, THREADS + which), THREADS + which);
    return true;
}

static bool kill_one(struct run *run, enum kind kind)
{
    switch (kind) {
    case GUEST:
        return node_process_kill_guest(&run->network.node, 0);
    case DAEMON:
        return node_process_kill_daemon(&run->network.node);
    case BOTH:
        return node_process_kill_warden(&run->network.node, true);
    case WARDEN:
        return node_process_kill_warden(&run->network.node, false);
    default:
        return kill_client(run);
    }
}

/* Answers that were on their way when it died come at once. */
static void await_answer(struct run *run, enum kind kind)
{
    const uint64_t killed = now_ns();
    uint64_t answered = 0;

    for (int ms = 0; ms < 30000 && answered <= killed + LEFT_NS; ms++) {
        pause_ms(1);
        answered = board->answered_ns;
    }
    assert_true(answered > killed + LEFT_NS);
    if (run->kills[kind] < GAPS_MAX)
        run->gaps[kind][run->kills[kind]] = answered - killed;
}

static void kill_at_random(struct run *run, enum kind kind, unsigned *seed)
{
    pause_ns((uint64_t)rand_r(seed) % (50 * SECOND / 1000));
    for (int ms = 0; !kill_one(run, kind); ms++) {
        assert_true(ms < 30000);
        pause_ms(1);
    }
    await_answer(run, kind);
    if (getenv("RAPAHUB_TEST_VERBOSE"))
        fprintf(stderr, "%s: %.1f ms\n", kind_names[kind],
                (double)run->gaps[kind][run->kills[kind]] / 1e6);
    run->kills[kind]++;
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

static void print_gaps(struct run *run, enum kind kind)
{
    unsigned count = run->kills[kind] < GAPS_MAX ? run->kills[kind] : GAPS_MAX;
    uint64_t *gaps = run->gaps[kind];

    if (count == 0)
        return;
    qsort(gaps, count, sizeof *gaps, compare);
    printf("%s killed | %u times | next answer p50 %.1f p99 %.1f max %.1f ms\n", kind_names[kind],
           run->kills[kind], (double)gaps[count / 2] / 1e6, (double)gaps[count * 99 / 100] / 1e6,
           (double)gaps[count - 1] / 1e6);
    assert_true(gaps[count - 1] < NEXT_MAX_NS);
}

/* ---- the end ---- */

static uint32_t count_of(struct rapahub_client *client, struct rapahub_container_id ledger,
                         uint64_t number)
{
    const void *const arguments[] = {&number};
    const struct rapahub_call call = {.target = ledger,
                                      .method = "count",
                                      .types = RAPAHUB_TYPES(u32, u64),
                                      .arguments = arguments};
    uint32_t count = 0;

    assert_int_equal(rapahub_client_call(client, &call, &count), 0);
    return count;
}

static void check_numbers(const char *address)
{
    const char *const nodes[] = {address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};
    struct rapahub_container_id ledger = {{0, 0}, 0};
    struct rapahub_client *client;
    unsigned asked = 0, failed = 0, maybe = 0, lost = 0, doubled = 0;

    assert_int_equal(rapahub_client_open(&options, &client), 0);
    assert_int_equal(rapahub_client_pool(client, "ledger", &ledger.pool), 0);
    for (unsigned number = 0; number < NUMBERS; number++) {
        unsigned char fate = board->fate[number];
        uint32_t count;

        if (fate == NOT_ASKED)
            continue;
        count = count_of(client, ledger, number);
        asked++;
        failed += fate == FAILED;
        maybe += fate == MAYBE;
        lost += fate == ANSWERED && count == 0;
        doubled += count > 1;
    }
    rapahub_client_close(client);
    printf("%u numbers | answered %" PRIuFAST64 " | failed %u | maybe %u | lost %u | doubled %u\n",
           asked, board->answers, failed, maybe, lost, doubled);
    assert_int_equal(lost + doubled + failed + maybe, 0);
}

/* The last number is also that of each kind for which there is none. */
static unsigned read_kills(unsigned left[KINDS])
{
    const char *text = getenv("RAPAHUB_TEST_KILLS");
    unsigned count = KILLS_SHORT, all = 0;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        if (text && *text) {
            char *end;

            count = (unsigned)strtoul(text, &end, 10);
            text = *end == ',' ? end + 1 : NULL;
        }
        left[kind] = count;
        all += count;
    }
    return all;
}

/* Any kill that is left is as likely as any other, so all kinds last to the end. */
static enum kind take_kind(unsigned left[KINDS], unsigned all, unsigned *seed)
{
    unsigned number = (unsigned)rand_r(seed) % all, kind = 0;

    while (number >= left[kind])
        number -= left[kind++];
    left[kind]--;
    return (enum kind)kind;
}

static void begin_clients(struct run *run)
{
    for (unsigned i = 0; i < THREADS; i++) {
        run->workers[i] = (struct worker){.address = address_of(run, i), .index = i};
        assert_int_equal(pthread_create(&run->workers[i].thread, NULL, work_on, &run->workers[i]),
                         0);
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        run->clients[i] = begin_client(run->fd, address_of(run, THREADS + i), THREADS + i);
}

static void end_clients(struct run *run)
{
    board->ends = true;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(run->workers[i].thread, NULL);
        assert_int_equal(run->workers[i].result, 0);
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(waitpid(run->clients[i], NULL, 0), run->clients[i]);
}

static void begin_node(struct run *run)
{
    struct network *network = &run->network;

    run->by_tls = getenv("RAPAHUB_TEST_TLS") != NULL;
    if (run->by_tls) {
        network_open(network);
        return;
    }
    node_process_open(&network->node);
    network->node.option = "--warden-reset-after=1ms"; /* it begins again at once */
    snprintf(network->local, sizeof network->local, "%s", network->node.address);
    node_process_begin(&network->node);
}

/* r[verify cluster.copy.acked] r[verify cluster.call.once] */
static void nothing_is_lost_and_nothing_doubled(void **state)
{
    static const char pools[] =
        "pools:\n"
        "  - pool_name: ledger\n"
        "    module: " TEST_PREFIX "/tests/modules/ledger.so\n"
        "    durability: acked\n"
        "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n";
    const char *given = getenv("RAPAHUB_TEST_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)now_ns();
    unsigned left[KINDS], all = read_kills(left);
    static struct run run;

    (void)state;
    printf("seed %u\n", seed);
    fflush(stdout);
    run.fd = memfd_create("board", 0);
    assert_int_equal(ftruncate(run.fd, sizeof *board), 0);
    map_board(run.fd);
    begin_node(&run);
    node_process_apply(&run.network.node, pools);
    begin_clients(&run);
    for (; all > 0; all--)
        kill_at_random(&run, take_kind(left, all, &seed), &seed);
    end_clients(&run);
    check_numbers(run.network.local);
    for (unsigned kind = 0; kind < KINDS; kind++)
        print_gaps(&run, (enum kind)kind);
    network_close(&run.network);
    munmap(board, sizeof *board);
    close(run.fd);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_nothing_doubled),
    };

    if (argc == 5 && strcmp(argv[1], "--client") == 0)
        return be_client(argv);
    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
