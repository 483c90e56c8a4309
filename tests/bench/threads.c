/* SPDX-License-Identifier: Apache-2.0 */
/* threads: several threads of one host call one guest. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/bench/stage.h"

#define THREADS_MAX 64
#define FAIR_MS     1000.0 /* time that all threads run where the slowest counts */

enum thread_kind { RATE, FAIR };

RAPAHUB_STUB(add, i64, i64, i64);

struct crowd {
    struct stage stage;
    atomic_uint state; /* 0: not yet, 1: go, 2: stop */
};

struct member {
    struct crowd *crowd;
    pthread_t thread;
    uint64_t calls;
    int failure;
    char apart[64]; /* from the next one's counter */
};

static int call_once(struct member *member)
{
    struct crowd *crowd = member->crowd;
    int64_t sum;

    member->failure = add(crowd->stage.host, crowd->stage.containers[0], 1, 2, &sum);
    if (atomic_load(&crowd->state) == 1)
        member->calls++;
    return member->failure;
}

static void *call_on(void *user)
{
    struct member *member = user;

    while (atomic_load(&member->crowd->state) < 2 && call_once(member) == 0)
        ;
    return NULL;
}

/* The owner is one of them, and looks at the clock: all get used to each other, count, stop. */
static int call_and_look(struct member *owner, double ms)
{
    uint64_t begin = trial_now() + (uint64_t)(ms * 1e5), end = begin + (uint64_t)(ms * 1e6), now;
    int r = 0;

    do {
        r = call_once(owner);
        now = trial_now();
        if (now >= begin)
            atomic_store(&owner->crowd->state, 1);
    } while (r == 0 && now < end);
    atomic_store(&owner->crowd->state, 2);
    return r;
}

static int run_crowd(struct crowd *crowd, struct member *members, uint32_t count, double ms)
{
    uint32_t started = 1;
    int r = 0;

    members[0].crowd = crowd;
    while (r == 0 && started < count) {
        members[started].crowd = crowd;
        r = -pthread_create(&members[started].thread, NULL, call_on, &members[started]);
        started += r == 0;
    }
    if (r == 0)
        r = call_and_look(&members[0], ms);
    atomic_store(&crowd->state, 2);
    for (uint32_t i = 1; i < started; i++) {
        pthread_join(members[i].thread, NULL);
        if (members[i].failure < 0)
            r = members[i].failure;
    }
    return r;
}

static void sum_up(const struct member *members, uint32_t count, double ms, struct trial *out)
{
    uint64_t all = 0, least = UINT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        all += members[i].calls;
        least = members[i].calls < least ? members[i].calls : least;
    }
    out->n = all;
    out->value = (double)all * 1000 / ms;
    out->second = all > 0 ? (double)least * count / (double)all : 0;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static struct member members[THREADS_MAX];
    struct crowd crowd = {.state = 0};
    double ms = subject->kind == FAIR ? FAIR_MS : options->trial_ms;
    uint64_t start;
    int r = stage_open(subject, NULL, out, &crowd.stage);

    for (uint32_t i = 0; i < THREADS_MAX; i++)
        members[i] = (struct member){0};
    start = trial_now();
    if (r == 0) {
        r = run_crowd(&crowd, members, subject->guests, ms);
        if (r < 0)
            (void)stage_failed(subject->id, r);
    }
    sum_up(members, subject->guests, ms, out);
    out->batch_ns = (double)(trial_now() - start);
    stage_close(&crowd.stage);
    return r;
}

/* id, what, run, mode, place, kind, size, threads, rounds */
const struct suite_subject threads_subjects[] = {
    {"threads-8-sleep", "8 block", run, SUITE_SLEEP, SUITE_FREE, RATE, 16, 8, 0},
    {"threads-1-sleep", "1 blocks", run, SUITE_SLEEP, SUITE_FREE, RATE, 16, 1, 0},
    {"threads-8", "8 on one CPU", run, SUITE_ADAPT, SUITE_CROSS, RATE, 16, 8, 0},
    {"threads-1", "1 on one CPU", run, SUITE_ADAPT, SUITE_CROSS, RATE, 16, 1, 0},
    {"threads-fair", "8 on one CPU, 1 s", run, SUITE_ADAPT, SUITE_CROSS, FAIR, 16, 8, 3},
    {0},
};
