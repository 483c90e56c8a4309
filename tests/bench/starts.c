/* SPDX-License-Identifier: Apache-2.0 */
/* starts: many guests are started, four at a time; and as many bare processes in the same way. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/place.h"
#include "tests/bench/stage.h"

#define AT_ONCE   4
#define WITHIN_MS 10000

struct starter {
    struct stage *stage;
    atomic_uint *next;
    pthread_t thread;
    int failure;
};

/* A thread that starts one guest after the other. */
static void *start_on(void *user)
{
    static const struct rapahub_guest_options plugin = {.chimod = BENCH_CHIMOD,
                                                        .trust = RAPAHUB_TRUST_TRUSTED};
    struct starter *starter = user;
    uint32_t at;

    while (starter->failure == 0 && (at = atomic_fetch_add(starter->next, 1)) < STAGE_GUESTS_MAX) {
        starter->failure =
            rapahub_host_spawn(starter->stage->host, &plugin, &starter->stage->guests[at]);
        if (starter->failure < 0)
            (void)stage_failed("spawn", starter->failure);
    }
    return NULL;
}

static int start_guests(struct stage *stage)
{
    struct starter starters[AT_ONCE];
    atomic_uint next = 0;
    uint32_t started = 0;
    int r = 0;

    while (r == 0 && started < AT_ONCE) {
        starters[started] = (struct starter){.stage = stage, .next = &next};
        r = -pthread_create(&starters[started].thread, NULL, start_on, &starters[started]);
        started += r == 0;
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(starters[i].thread, NULL);
        if (starters[i].failure < 0)
            r = starters[i].failure;
    }
    return r;
}

static int guests(const struct suite_subject *subject, const struct suite_options *options,
                  struct trial *out)
{
    static struct stage stage;
    const struct stage_options how = {.host = {.own_thread = true, .guests_max = STAGE_GUESTS_MAX},
                                      .nobody = true};
    uint64_t start;
    int r = stage_open(subject, &how, out, &stage);

    (void)options;
    start = trial_now();
    if (r == 0)
        r = start_guests(&stage);
    out->batch_ns = (double)(trial_now() - start) / STAGE_GUESTS_MAX;
    out->n = STAGE_GUESTS_MAX;
    stage_close(&stage);
    return r;
}

/* Where one that is under way says that it is there. */
static int begin(int memory, pid_t *pid, struct pollfd *end)
{
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    r = place_spawn("process", memory, ends[1], pid);
    close(ends[1]);
    *end = (struct pollfd){.fd = ends[0], .events = POLLIN};
    return r;
}

/* How many there are in the end; each whose byte came makes room for the next. */
static int start_processes(int memory, pid_t pids[STAGE_GUESTS_MAX], uint32_t *started)
{
    struct pollfd ends[AT_ONCE];
    uint32_t there = 0;
    int r = 0;

    for (uint32_t i = 0; i < AT_ONCE; i++)
        ends[i].fd = -1;
    while (r == 0 && there < STAGE_GUESTS_MAX) {
        for (uint32_t i = 0; r == 0 && i < AT_ONCE; i++)
            if (ends[i].fd < 0 && *started < STAGE_GUESTS_MAX) {
                r = begin(memory, &pids[*started], &ends[i]);
                *started += r == 0;
            }
        if (r == 0 && poll(ends, AT_ONCE, WITHIN_MS) <= 0)
            r = -ETIMEDOUT;
        for (uint32_t i = 0; r == 0 && i < AT_ONCE; i++)
            if (ends[i].fd >= 0 && ends[i].revents) {
                close(ends[i].fd);
                ends[i].fd = -1;
                there++;
            }
    }
    return r;
}

static int processes(const struct suite_subject *subject, const struct suite_options *options,
                     struct trial *out)
{
    pid_t pids[STAGE_GUESTS_MAX];
    struct place_child memory;
    uint32_t started = 0;
    uint64_t start;
    int r = place_start("swallow", subject->place, &memory); /* for its memory */

    (void)options;
    start = trial_now();
    if (r == 0)
        r = start_processes(memory.memory, pids, &started);
    out->batch_ns = (double)(trial_now() - start) / STAGE_GUESTS_MAX;
    out->n = started;
    for (uint32_t i = 0; i < started; i++)
        kill(pids[i], SIGKILL);
    for (uint32_t i = 0; i < started; i++)
        waitpid(pids[i], NULL, 0);
    place_stop(&memory);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject starts_subjects[] = {
    {"start-255", "guests, 4 at a time", guests, SUITE_ADAPT, SUITE_FREE, 0, 0, STAGE_GUESTS_MAX,
     3},
    {"process-255", "bare processes, 4 at a time", processes, SUITE_SLEEP, SUITE_FREE, 0, 0,
     STAGE_GUESTS_MAX, 3},
    {0},
};
