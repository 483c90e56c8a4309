/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_calls.h"

#include <poll.h>
#include <time.h>

#define PATIENCE_NS UINT64_C(30000000000)
#define PAUSE_MS    1

uint64_t archive_calls_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* 16 buckets for each power of two: an error of at most 6 %. */
static unsigned bucket_of(uint64_t ns)
{
    unsigned power = ns < 16 ? 4 : 63u - (unsigned)__builtin_clzll(ns);

    return (power - 4) * 16 + (unsigned)(ns >> (power - 4));
}

static double bucket_ns(unsigned bucket)
{
    unsigned power = bucket < 32 ? 0 : bucket / 16 - 1;

    return (double)((uint64_t)(bucket - power * 16) << power);
}

/* The call may have run or not; repeating it has the same effect. */
static bool is_worth_another_try(int r)
{
    static const int codes[] = {RAPAHUB_EDIED,   RAPAHUB_ESTALE,    RAPAHUB_ERESTARTING,
                                RAPAHUB_ECLOSED, RAPAHUB_ETIMEDOUT, RAPAHUB_EBUSY};

    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] == r)
            return true;
    return false;
}

int archive_calls_make(struct archive_calls *calls, const struct rapahub_call *call, void *result)
{
    const uint64_t first = archive_calls_now();
    uint64_t start = first, end;
    int r;

    for (;;) {
        r = calls->way->call(calls->way->to, call, result);
        end = archive_calls_now();
        if (!is_worth_another_try(r) || end - first > PATIENCE_NS ||
            end > atomic_load(calls->deadline_ns))
            break;
        calls->retried++;
        (void)poll(NULL, 0, PAUSE_MS);
        start = archive_calls_now();
    }
    calls->answered++;
    atomic_store(calls->answered_ns, end);
    calls->buckets[bucket_of(end - start)]++;
    if (end - first > calls->longest_ns)
        calls->longest_ns = end - first;
    return r;
}

void archive_calls_merge(struct archive_calls *calls, const struct archive_calls *other)
{
    calls->answered += other->answered;
    calls->retried += other->retried;
    if (calls->longest_ns < other->longest_ns)
        calls->longest_ns = other->longest_ns;
    for (unsigned i = 0; i < ARCHIVE_BUCKETS; i++)
        calls->buckets[i] += other->buckets[i];
}

double archive_calls_percentile_us(const struct archive_calls *calls, double share)
{
    const double wanted = (double)calls->answered * share;
    uint64_t sum = 0;

    for (unsigned i = 0; i < ARCHIVE_BUCKETS; i++) {
        sum += calls->buckets[i];
        if ((double)sum >= wanted && sum > 0)
            return bucket_ns(i) / 1e3;
    }
    return 0;
}
