/* SPDX-License-Identifier: Apache-2.0 */
/* raw pace: how long calls take with a peer that rings its doorbell, and with one that only wakes
 * futexes. The two take turns, in many short rounds, and are compared by their middle rounds, or
 * by their better ones: what else runs on the machine meets both alike, but not each round, and who
 * is slow by itself has no good round. */
#ifndef TESTS_CONFORMANCE_RAW_PACE_H
#define TESTS_CONFORMANCE_RAW_PACE_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/testing.h"

#define ROUNDS  60
#define TIMED   10 /* calls in a round */
#define UNTIMED 20 /* before the first round: a peer is judged by what it does */
#define TIMES   2  /* limit of the time that a doorbell takes */

#define TIMES_BESIDE 8 /* where a thread stands in between; one that looks by time takes 30 */

enum peer_kind { WITH_BELL, FUTEX_ONLY, PEER_KINDS };

struct pace {
    const char *name;
    unsigned times;
    double us[PEER_KINDS][ROUNDS]; /* times of a call */
};

__attribute__((unused)) static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Below it is this share of the times. */
static double quantile(double *times, size_t count, double share)
{
    qsort(times, count, sizeof(*times), compare_times);
    return times[(size_t)((double)count * share)];
}

/* `call` is made so often: what one of them takes. */
__attribute__((unused)) static double pace_of_calls(void (*call)(void *user), void *user)
{
    double times[TIMED];

    for (int i = 0; i < TIMED; i++) {
        double start = now_us();

        call(user);
        times[i] = now_us() - start;
    }
    return quantile(times, TIMED, 0.5);
}

static double pace_compare(struct pace *pace, const char *rounds, double share)
{
    double bell = quantile(pace->us[WITH_BELL], ROUNDS, share);
    double futex = quantile(pace->us[FUTEX_ONLY], ROUNDS, share);

    print_message("%-40s %s | %7.1f us with a bell | %7.1f us futex only | %.2f\n", pace->name,
                  rounds, bell, futex, futex / bell);
    return futex / bell;
}

__attribute__((unused)) static void pace_check(struct pace *pace)
{
    double better = pace_compare(pace, "better", 0.25), middle = pace_compare(pace, "middle", 0.5);

    assert_true(better <= pace->times || middle <= pace->times);
}

#endif
