/* SPDX-License-Identifier: Apache-2.0 */
/* backoff: the curve is computed in double, which is exact enough for delays, and clamped before it
 * becomes an integer. */
#include "host/supervise/backoff.h"

/* Returns the n-th root of `x` >= 1, by bisection: this room does not use <math.h>. */
static double root(double x, uint32_t n)
{
    double low = 1, high = x;

    for (int i = 0; i < 200 && high - low > low * 1e-15; i++) {
        double middle = low + (high - low) / 2, power = 1;

        for (uint32_t k = 0; k < n && power <= x; k++)
            power *= middle;
        if (power > x)
            high = middle;
        else
            low = middle;
    }
    return low + (high - low) / 2;
}

void host_backoff_init(struct host_backoff *backoff, const struct rapahub_supervision *how,
                       uint64_t seed)
{
    *backoff = (struct host_backoff){
        .initial_ns = how->backoff_initial_ns == RAPAHUB_NONE ? 0 : how->backoff_initial_ns,
        .max_ns = how->backoff_max_ns,
        .reset_after_ns = how->reset_after_ns,
        .factor = how->backoff_factor,
        .steps = how->backoff_steps,
        .first_immediate = !how->backoff_first,
        .jitter = how->jitter,
        .share = how->jitter_share,
    };
    if (backoff->initial_ns == 0)
        backoff->max_ns = 0;
    else if (backoff->steps > 0)
        backoff->factor =
            root((double)backoff->max_ns / (double)backoff->initial_ns, backoff->steps);
    hub_random_init(&backoff->random, seed);
}

static uint64_t whole(double ns)
{
    return ns >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)ns;
}

static uint64_t clamp(const struct host_backoff *backoff, uint64_t ns)
{
    return ns < backoff->max_ns ? ns : backoff->max_ns;
}

/* Rounds, so that the last digit of a root does not cost a nanosecond. */
static uint64_t curve(const struct host_backoff *backoff, uint32_t j)
{
    double delay = (double)backoff->initial_ns;

    if (backoff->steps > 0 && j >= backoff->steps)
        return backoff->max_ns;
    if (backoff->factor > 1)
        for (; j > 0 && delay < (double)backoff->max_ns; j--)
            delay *= backoff->factor;
    return clamp(backoff, whole(delay + 0.5));
}

static uint64_t between(struct host_backoff *backoff, uint64_t least, uint64_t most)
{
    uint64_t span = most - least;

    if (most <= least)
        return least;
    return least + (span == UINT64_MAX ? hub_random_next(&backoff->random)
                                       : hub_random_below(&backoff->random, span + 1));
}

/* r[impl supervise.backoff.jitter] */
static uint64_t jittered(struct host_backoff *backoff, uint64_t delay)
{
    uint64_t last;

    switch (backoff->jitter) {
    case RAPAHUB_JITTER_NONE:
        return delay;
    case RAPAHUB_JITTER_FULL:
        return between(backoff, 0, delay);
    case RAPAHUB_JITTER_DECORRELATED:
        last = backoff->last_ns > 0 ? backoff->last_ns : backoff->initial_ns;
        return clamp(backoff, between(backoff, backoff->initial_ns, whole(3.0 * (double)last)));
    case RAPAHUB_JITTER_ADDITIVE:
        return clamp(backoff, between(backoff, delay, whole((double)delay * (1 + backoff->share))));
    default:
        return between(backoff, delay - delay / 2, delay);
    }
}

uint64_t host_backoff_next(struct host_backoff *backoff, uint64_t ready_ns)
{
    if (ready_ns >= backoff->reset_after_ns)
        host_backoff_reset(backoff);
    if (backoff->failures < UINT32_MAX)
        backoff->failures++;
    if (backoff->first_immediate && backoff->failures == 1)
        return 0;
    backoff->last_ns =
        jittered(backoff, curve(backoff, backoff->failures - (backoff->first_immediate ? 2 : 1)));
    return backoff->last_ns;
}

/* r[impl supervise.backoff.reset] */
void host_backoff_reset(struct host_backoff *backoff)
{
    backoff->failures = 0;
    backoff->last_ns = 0;
}
