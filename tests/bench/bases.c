/* SPDX-License-Identifier: Apache-2.0 */
/* bases: what the machine can do at best, without this product: lines that go from CPU to CPU,
 * futexes, a byte through a socket, memcpy, a process. */
#include "tests/bench/bases.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/place.h"

#define BALLAST (1U << 30)
#define LARGE   (1U << 20)

enum base_kind { LINE, LINES, FUTEX, RELAY, DOORBELL, STREAM, COPY, PROCESS };

struct base {
    struct place_child child;
    uint64_t turn;
    uint32_t size;
    uint8_t *from, *to;
};

static uint64_t look(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void futex_wait_for(uint32_t *word, uint32_t value)
{
    uint32_t now;

    while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) != value)
        syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
}

static void futex_set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* All of it, in and out; false at the end. */
static bool take(int socket, uint8_t *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(socket, to + done, size - done);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool give(int socket, const uint8_t *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(socket, from + done, size - done, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool hear(int socket)
{
    struct pollfd poll_for = {.fd = socket, .events = POLLIN};
    char byte;

    return poll(&poll_for, 1, -1) == 1 && read(socket, &byte, 1) == 1;
}

/* Transfers a cache line each way. The next message uses the next line, which averages over the
 * places of the addresses in the shared cache. */
static int once_lines(void *user)
{
    struct base *base = user;
    struct place_shared *shared = base->child.shared;
    struct place_line *out = &shared->there[base->turn % PLACE_LINES];
    struct place_line *in = &shared->back[base->turn % PLACE_LINES];
    uint8_t data[32];

    base->turn++;
    memset(out->data, (int)base->turn & 255, sizeof out->data);
    store(&out->sequence, base->turn);
    while (look(&in->sequence) != base->turn)
        ;
    memcpy(data, in->data, sizeof data);
    return data[0] == (uint8_t)base->turn ? 0 : -EIO;
}

static void answer_lines(struct place_shared *shared)
{
    uint8_t data[32];

    for (uint64_t turn = 0;; turn++) {
        struct place_line *in = &shared->there[turn % PLACE_LINES];
        struct place_line *out = &shared->back[turn % PLACE_LINES];

        while (look(&in->sequence) != turn + 1)
            ;
        memcpy(data, in->data, sizeof data);
        memcpy(out->data, data, sizeof data);
        store(&out->sequence, turn + 1);
    }
}

/* The same line all the time, stored by both. */
static int once_line(void *user)
{
    struct base *base = user;
    uint64_t *word = &base->child.shared->there[0].sequence;

    store(word, ++base->turn);
    base->turn++;
    while (look(word) != base->turn)
        ;
    return 0;
}

static void answer_line(struct place_shared *shared)
{
    uint64_t *word = &shared->there[0].sequence;

    for (uint64_t turn = 1;; turn += 2) {
        while (look(word) != turn)
            ;
        store(word, turn + 1);
    }
}

static int once_futex(void *user)
{
    struct base *base = user;
    uint32_t turn = (uint32_t)++base->turn;

    futex_set(&base->child.shared->word_there, turn);
    futex_wait_for(&base->child.shared->word_back, turn);
    return 0;
}

static void answer_futex(struct place_shared *shared)
{
    for (uint32_t turn = 1;; turn++) {
        futex_wait_for(&shared->word_there, turn);
        futex_set(&shared->word_back, turn);
    }
}

/* Between two others, as a host is between two guests. */
static void answer_relay(struct place_shared *shared)
{
    for (uint32_t turn = 1;; turn++) {
        futex_wait_for(&shared->word_there, turn);
        futex_set(&shared->relayed_there, turn);
        futex_wait_for(&shared->relayed_back, turn);
        futex_set(&shared->word_back, turn);
    }
}

static void answer_relayed(struct place_shared *shared)
{
    for (uint32_t turn = 1;; turn++) {
        futex_wait_for(&shared->relayed_there, turn);
        futex_set(&shared->relayed_back, turn);
    }
}

static int once_doorbell(void *user)
{
    const struct base *base = user;

    return send(base->child.socket, "", 1, MSG_NOSIGNAL) == 1 && hear(base->child.socket) ? 0
                                                                                          : -EPIPE;
}

static int once_stream(void *user)
{
    struct base *base = user;

    return give(base->child.socket, base->from, base->size) &&
                   take(base->child.socket, base->to, base->size)
               ? 0
               : -EPIPE;
}

/* A message of the stream without an answer; the socket holds what is not read yet. */
static int once_one_way(void *user)
{
    const struct base *base = user;

    return give(base->child.socket, base->from, base->size) ? 0 : -EPIPE;
}

static void answer_bytes(int socket, size_t size)
{
    uint8_t *data = malloc(size);

    while (data && take(socket, data, size) && give(socket, data, size))
        ;
}

static void swallow(int socket)
{
    static uint8_t data[65536];

    while (read(socket, data, sizeof data) > 0)
        ;
}

static int once_copy(void *user)
{
    struct base *base = user;

    memcpy(base->to, base->from, base->size);
    __asm__ volatile("" : : "r"(base->to) : "memory");
    return 0;
}

/* A process of the same kind as a guest, until it has mapped its memory, claimed a word there and
 * sent a byte. */
static int start_process(struct place_child *child, const char *name)
{
    int ends[2];
    char byte;
    ssize_t n;
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    r = place_spawn(name, child->memory, ends[1], &child->pid);
    close(ends[1]);
    n = r == 0 ? read(ends[0], &byte, 1) : 0;
    close(ends[0]);
    return n == 1 ? 0 : -EPIPE;
}

static void answer_process(struct place_shared *shared, size_t ballast)
{
    void *held = ballast > 0 ? malloc(ballast) : NULL;
    uint32_t free_word = 0;

    if (held)
        memset(held, 1, ballast);
    __asm__ volatile("" : : "r"(held) : "memory");
    (void)__atomic_compare_exchange_n(&shared->ready, &free_word, 1, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    (void)send(4, "", 1, MSG_NOSIGNAL);
    (void)pause();
}

int bases_peer(const char *name)
{
    struct place_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, 3, 0);

    if (shared == MAP_FAILED)
        return 1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (strncmp(name, "process", strlen("process")) == 0)
        return answer_process(shared, strcmp(name, "process-1g") == 0 ? BALLAST : 0), 0;
    if (send(4, "", 1, MSG_NOSIGNAL) != 1)
        return 1;
    if (strcmp(name, "line") == 0)
        answer_line(shared);
    else if (strcmp(name, "lines") == 0)
        answer_lines(shared);
    else if (strcmp(name, "futex") == 0)
        answer_futex(shared);
    else if (strcmp(name, "relay") == 0)
        answer_relay(shared);
    else if (strcmp(name, "relayed") == 0)
        answer_relayed(shared);
    else if (strcmp(name, "swallow") == 0)
        swallow(4);
    else
        answer_bytes(4, (size_t)strtoul(name, NULL, 10));
    return 0;
}

struct how {
    const char *peer;
    int (*once)(void *user);
    bool poll;
};

static struct how how_of(const struct suite_subject *subject, char name[16])
{
    snprintf(name, 16, "%u", subject->kind == DOORBELL ? 1U : (unsigned)subject->size);
    switch ((enum base_kind)subject->kind) {
    case LINE:
        return (struct how){"line", once_line, true};
    case LINES:
        return (struct how){"lines", once_lines, true};
    case FUTEX:
        return (struct how){"futex", once_futex, false};
    case RELAY:
        return (struct how){"relay", once_futex, false};
    case DOORBELL:
        return (struct how){name, once_doorbell, false};
    default:
        return subject->guests > 0 ? (struct how){"swallow", once_one_way, false}
                                   : (struct how){name, once_stream, false};
    }
}

/* Starts the third process, beside the second one. */
static int start_relayed(struct place_child *child, enum suite_place place, pid_t *third)
{
    pid_t second = child->pid;
    int r = start_process(child, "relayed");

    *third = child->pid == second ? 0 : child->pid;
    child->pid = second;
    return r == 0 ? place_guest(place, *third) : r;
}

static void stop_relayed(pid_t third)
{
    if (third > 0) {
        kill(third, SIGKILL);
        waitpid(third, NULL, 0);
    }
}

static int with_peer(const struct suite_subject *subject, const struct suite_options *options,
                     struct trial *out)
{
    struct base base = {.size = subject->size};
    pid_t third = 0;
    char name[16];
    struct how how = how_of(subject, name);
    struct trial_plan plan = {.once = how.once,
                              .user = &base,
                              .ms = options->trial_ms,
                              .fifo = how.poll && options->fifo};
    int r = place_host(subject->place, out);

    base.from = calloc(2, LARGE);
    if (r == 0 && !base.from)
        r = -ENOMEM;
    if (r == 0) {
        memset(base.from, 1, 2 * (size_t)LARGE);
        base.to = base.from + LARGE;
        r = place_start(how.peer, subject->place, &base.child);
    }
    if (r == 0) {
        plan.peer = base.child.pid;
        if (subject->kind == RELAY)
            r = start_relayed(&base.child, subject->place, &third);
        if (r == 0)
            r = trial_run(&plan, out);
        stop_relayed(third);
        place_stop(&base.child);
    }
    out->value = out->batch_ns > 0 ? subject->size / out->batch_ns : 0; /* GB/s */
    free(base.from);
    place_end();
    return r;
}

static int copies(const struct suite_subject *subject, const struct suite_options *options,
                  struct trial *out)
{
    struct base base = {.size = subject->size, .from = aligned_alloc(4096, 2 * (size_t)LARGE)};
    const struct trial_plan plan = {
        .once = once_copy, .user = &base, .ms = options->trial_ms, .fifo = options->fifo};
    int r;

    if (!base.from)
        return -ENOMEM;
    base.to = base.from + LARGE;
    memset(base.from, 1, 2 * (size_t)LARGE);
    (void)place_pin(0, 0);
    r = trial_run(&plan, out);
    out->value = out->batch_ns > 0 ? subject->size / out->batch_ns : 0;
    place_end();
    free(base.from);
    return r;
}

/* SIGKILL until the end of a process is seen. */
static int end_process(pid_t pid)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int r = end.fd < 0 || kill(pid, SIGKILL) < 0 || poll(&end, 1, 10000) != 1 ? -ECHILD : 0;

    if (end.fd >= 0)
        close(end.fd);
    return r;
}

/* The next one that will be killed is another kind of process than the one that was timed. */
static int replace_process(struct place_child *child, const char *name)
{
    pid_t last = child->pid;
    int r = end_process(last);

    waitpid(last, NULL, 0);
    child->shared->ready = 0;
    return r == 0 ? start_process(child, name) : r;
}

/* p50: the start of a process. value: the end of one and the start of the next; second: the end.
 * After a large process the next one starts small, and grows then. */
static int processes(const struct suite_subject *subject, const struct suite_options *options,
                     struct trial *out)
{
    static double starts[256], both[256], ends[256];
    bool large = subject->size > 0;
    const char *name = large ? "process-1g" : "process";
    uint32_t least = large ? 3 : 10;
    struct place_child child = {.memory = -1, .socket = -1};
    uint64_t until = trial_now() + (uint64_t)(options->trial_ms * 1e6);
    uint32_t n = 0;
    int r = place_start("swallow", subject->place, &child); /* for its memory */
    pid_t first = child.pid;

    if (r == 0)
        r = start_process(&child, name);
    while (r == 0 && n < 256 && (n < least || trial_now() < until)) {
        pid_t last = child.pid;
        uint64_t begin = trial_now(), seen;

        r = end_process(last);
        seen = trial_now();
        child.shared->ready = 0;
        if (r == 0)
            r = start_process(&child, "process");
        ends[n] = (double)(seen - begin);
        starts[n] = (double)(trial_now() - seen);
        both[n] = ends[n] + starts[n];
        n++;
        waitpid(last, NULL, 0);
        if (r == 0 && large)
            r = replace_process(&child, name);
    }
    if (child.pid != first) {
        kill(child.pid, SIGKILL);
        waitpid(child.pid, NULL, 0);
    }
    child.pid = first;
    place_stop(&child);
    out->n = n;
    out->p50_ns = out->batch_ns = trial_quantile(starts, n, 0.5);
    out->p90_ns = trial_quantile(starts, n, 0.9);
    out->value = trial_quantile(both, n, 0.5);
    out->second = trial_quantile(ends, n, 0.5);
    return r;
}

/* id, what, run, mode, place, kind, size, guests (1: one way) */
const struct suite_subject bases_subjects[] = {
    {"L1", "one fixed line, both sides store", with_peer, SUITE_POLL, SUITE_CROSS, LINE, 8, 0, 0},
    {"L2", "a line each way, 256 in turn", with_peer, SUITE_POLL, SUITE_CROSS, LINES, 32, 0, 0},
    {"futex-cross", "two words", with_peer, SUITE_SLEEP, SUITE_CROSS, FUTEX, 4, 0, 0},
    {"futex-same", "two words", with_peer, SUITE_SLEEP, SUITE_SAME, FUTEX, 4, 0, 0},
    {"futex-free", "two words", with_peer, SUITE_SLEEP, SUITE_FREE, FUTEX, 4, 0, 0},
    {"relay", "futexes of three", with_peer, SUITE_SLEEP, SUITE_CROSS, RELAY, 4, 0, 0},
    {"doorbell", "a byte, poll and read", with_peer, SUITE_BELL, SUITE_CROSS, DOORBELL, 1, 0, 0},
    {"memcpy-64k", "memcpy", copies, SUITE_POLL, SUITE_SAME, COPY, 65536, 0, 0},
    {"memcpy-1m", "memcpy", copies, SUITE_POLL, SUITE_SAME, COPY, LARGE, 0, 0},
    {"uds-8", "socket pair there and back", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, 8, 0, 0},
    {"uds-32", "socket pair there and back", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, 32, 0, 0},
    {"uds-256", "socket pair there and back", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, 256, 0,
     0},
    {"uds-4k", "socket pair there and back", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, 4096, 0,
     0},
    {"uds-1m", "socket pair there and back", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, LARGE, 0,
     0},
    {"uds-64k", "socket pair there and back", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, 65536, 0,
     0},
    {"uds-way", "socket pair, one way", with_peer, SUITE_BELL, SUITE_CROSS, STREAM, 65536, 1, 0},
    {"process", "posix_spawn to first byte", processes, SUITE_SLEEP, SUITE_FREE, PROCESS, 0, 0, 0},
    {"process-1g", "the same, killed with 1 GiB", processes, SUITE_SLEEP, SUITE_FREE, PROCESS,
     BALLAST, 0, 3},
    {0},
};
