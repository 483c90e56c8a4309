/* SPDX-License-Identifier: Apache-2.0 */
/* bench_call: what a call into a guest costs, as a ratio to bases that are measured in the same
 * round: a round trip of one byte through a Unix socket pair, and of two futex words, between two
 * processes. The rounds alternate, so that a noisy machine is noisy for all.
 *
 * usage: bench_call [ROUNDS]   (9) */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rapahub/host.h>

#define TRIPS      20000 /* a round */
#define ROUNDS_MAX 101
#define LARGE      921600
#define LARGE_PART 50 /* of the trips: so many fewer for payloads of that size */

RAPAHUB_STUB(i64, i64, i64);
RAPAHUB_STUB(bytes, bytes, bytes);

enum subject {
    BASE_SOCKET,
    BASE_FUTEX,
    CALL_INLINE,
    CALL_4K,
    CALL_48K,
    CALL_900K,
    LOAN_48K,
    LOAN_900K,
    SUBJECTS
};

static const char *const names[SUBJECTS] = {
    "socket pair, 1 byte", "futex, 2 words",      "call i64(i64)",       "call bytes(4 KiB)",
    "call bytes(48 KiB)",  "call bytes(900 KiB)", "loan, view (48 KiB)", "loan, view (900 KiB)"};

struct bench {
    struct rapahub_host *host;
    struct rapahub_container_id echo;
    int socket;
    uint32_t *words;
    pid_t children[2];
    double ns[SUBJECTS][ROUNDS_MAX];
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void futex_wait(uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void futex_set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void answer_socket(int end)
{
    char byte;

    while (read(end, &byte, 1) == 1 && write(end, &byte, 1) == 1)
        ;
    _exit(0);
}

static void answer_futex(uint32_t *words)
{
    for (uint32_t turn = 1;; turn++) {
        while (__atomic_load_n(&words[0], __ATOMIC_SEQ_CST) != turn)
            futex_wait(&words[0], turn - 1);
        futex_set(&words[16], turn);
    }
}

/* The other ends live in processes of their own, as a guest does. */
static int open_bases(struct bench *bench)
{
    int ends[2];

    bench->words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bench->words == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    bench->children[0] = fork();
    if (bench->children[0] == 0) {
        close(ends[0]);
        answer_socket(ends[1]);
    }
    bench->children[1] = fork();
    if (bench->children[1] == 0)
        answer_futex(bench->words);
    close(ends[1]);
    bench->socket = ends[0];
    return bench->children[0] < 0 || bench->children[1] < 0 ? -1 : 0;
}

static void close_bases(struct bench *bench)
{
    for (int i = 0; i < 2; i++) {
        kill(bench->children[i], SIGKILL);
        waitpid(bench->children[i], NULL, 0);
    }
    close(bench->socket);
}

static int open_host(struct bench *bench)
{
    const struct rapahub_guest_options plugin = {.chimod = ECHO, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options pool = {.id = {{1, 0}, 0}, .pool_name = "bench"};
    struct rapahub_guest_id guest;
    int r = rapahub_host_create(NULL, &bench->host);

    bench->echo = pool.id;
    if (r == 0)
        r = rapahub_host_spawn(bench->host, &plugin, &guest);
    if (r == 0)
        r = rapahub_host_add_container(bench->host, guest, &pool);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    return r;
}

static int call_bytes(struct bench *bench, size_t size)
{
    static uint8_t data[LARGE];
    struct rapahub_bytes answer;

    return bytes(bench->host, bench->echo, (struct rapahub_bytes){data, size}, &answer);
}

/* Written where the guest reads it, and read where the guest wrote it. */
static int call_loan(struct bench *bench, size_t size)
{
    struct rapahub_loan loan;
    struct rapahub_bytes in, answer;
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = bench->echo,
                                      .method = "bytes(bytes) -> bytes",
                                      .arguments = arguments,
                                      .loan = &loan,
                                      .view = true};

    if (rapahub_host_loan(bench->host, bench->echo, size, &loan) < 0)
        return -1;
    in = (struct rapahub_bytes){loan.data, size};
    return rapahub_host_call(bench->host, &call, &answer);
}

/* One round trip. */
static int trip(struct bench *bench, enum subject subject, uint32_t *turn)
{
    int64_t same;
    char byte = 1;

    switch (subject) {
    case BASE_SOCKET:
        return write(bench->socket, &byte, 1) == 1 && read(bench->socket, &byte, 1) == 1 ? 0 : -1;
    case BASE_FUTEX:
        futex_set(&bench->words[0], ++*turn);
        while (__atomic_load_n(&bench->words[16], __ATOMIC_SEQ_CST) != *turn)
            futex_wait(&bench->words[16], *turn - 1);
        return 0;
    case CALL_INLINE:
        return i64(bench->host, bench->echo, 42, &same);
    case CALL_4K:
        return call_bytes(bench, 4096);
    case CALL_48K:
        return call_bytes(bench, 49152);
    case CALL_900K:
        return call_bytes(bench, LARGE);
    case LOAN_48K:
        return call_loan(bench, 49152);
    default:
        return call_loan(bench, LARGE);
    }
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static int measure(struct bench *bench, int rounds)
{
    uint32_t turn = 0;

    for (int round = 0; round < rounds; round++)
        for (int subject = 0; subject < SUBJECTS; subject++) {
            bool large = subject == CALL_900K || subject == LOAN_900K;
            int trips = large ? TRIPS / LARGE_PART : TRIPS;
            double start = now_ns();

            for (int i = 0; i < trips; i++)
                if (trip(bench, (enum subject)subject, &turn) < 0)
                    return -1;
            bench->ns[subject][round] = (now_ns() - start) / trips;
        }
    return 0;
}

static void print(struct bench *bench, int rounds)
{
    double base[2];

    printf("%d rounds of %d trips, alternating; median, and the range of the rounds\n", rounds,
           TRIPS);
    for (int subject = 0; subject < SUBJECTS; subject++) {
        double *ns = bench->ns[subject];

        qsort(ns, (size_t)rounds, sizeof *ns, ascending);
        if (subject <= BASE_FUTEX)
            base[subject] = ns[rounds / 2];
        printf("%-20s %9.0f ns  %9.0f to %-9.0f", names[subject], ns[rounds / 2], ns[0],
               ns[rounds - 1]);
        if (subject > BASE_FUTEX)
            printf("  %5.2f x socket  %5.2f x futex", ns[rounds / 2] / base[BASE_SOCKET],
                   ns[rounds / 2] / base[BASE_FUTEX]);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    static struct bench bench;
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 9;
    int r;

    if (rounds < 1 || rounds > ROUNDS_MAX)
        return fprintf(stderr, "usage: bench_call [ROUNDS], 1 to %d\n", ROUNDS_MAX), 2;
    if (open_bases(&bench) < 0)
        return perror("bench_call"), 1;
    r = open_host(&bench);
    if (r == 0)
        r = measure(&bench, (int)rounds);
    rapahub_host_destroy(bench.host);
    close_bases(&bench);
    if (r == 0)
        print(&bench, (int)rounds);
    return r != 0;
}
