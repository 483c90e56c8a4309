/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/place.h"

#define SAMPLES_MAX  (1U << 17)
#define BATCHES_MAX  (1U << 14)
#define BATCH_NS     20000.0 /* length of a batch: below a time slice, above a clock reading */
#define FIFO_MS_MAX  100.0   /* no other process runs then */
#define CALIBRATE_NS 20000000U
#define EXACT_WARM   1000U

static double ns_per_cycle = 1.0;
static double samples[SAMPLES_MAX], batches[BATCHES_MAX];
static uint64_t exactly;
static volatile uint64_t mark;

uint64_t trial_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t trial_cycles(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return trial_now();
#endif
}

double trial_ns(uint64_t cycles)
{
    return (double)cycles * ns_per_cycle;
}

void trial_init(void)
{
    uint64_t start_ns = trial_now(), start = trial_cycles(), now_ns;

    do
        now_ns = trial_now();
    while (now_ns - start_ns < CALIBRATE_NS);
    ns_per_cycle = (double)(now_ns - start_ns) / (double)(trial_cycles() - start);
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

double trial_quantile(double *values, uint32_t count, double q)
{
    uint32_t at = (uint32_t)(q * (double)count);

    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, ascending);
    return values[at < count ? at : count - 1];
}

/* Warms up, and finds out how many operations make a batch. */
static int warm_up(const struct trial_plan *plan, uint32_t *batch)
{
    uint64_t start = trial_cycles(), count = 0;
    double ns, limit = plan->ms * 1e6 * 0.05;

    do {
        int r = plan->once(plan->user);

        if (r < 0)
            return r;
        count++;
        ns = trial_ns(trial_cycles() - start);
    } while (ns < limit);
    ns /= (double)count;
    *batch = ns >= BATCH_NS ? 1 : (uint32_t)(BATCH_NS / ns);
    return 0;
}

static int in_batches(const struct trial_plan *plan, uint32_t batch, struct trial *out)
{
    uint64_t start = trial_cycles(), from = start, now;
    double limit = plan->ms * 1e6 * 0.40;
    uint32_t count = 0, per = plan->per > 0 ? plan->per : 1;

    do {
        for (uint32_t i = 0; i < batch; i++) {
            int r = plan->once(plan->user);

            if (r < 0)
                return r;
        }
        now = trial_cycles();
        batches[count++] = trial_ns(now - from) / batch / per;
        from = now;
    } while (count < BATCHES_MAX && trial_ns(now - start) < limit);
    out->batch_ns = trial_quantile(batches, count, 0.5);
    return 0;
}

static int one_by_one(const struct trial_plan *plan, struct trial *out)
{
    uint64_t start = trial_cycles(), from = start, now;
    double limit = plan->ms * 1e6 * 0.55;
    uint32_t count = 0, per = plan->per > 0 ? plan->per : 1;

    do {
        int r = plan->once(plan->user);

        if (r < 0)
            return r;
        now = trial_cycles();
        samples[count++] = trial_ns(now - from) / per;
        from = now;
    } while (count < SAMPLES_MAX && trial_ns(now - start) < limit);
    out->n = count;
    out->p50_ns = trial_quantile(samples, count, 0.5);
    out->p90_ns = trial_quantile(samples, count, 0.9);
    out->p99_ns = trial_quantile(samples, count, 0.99);
    out->p999_ns = trial_quantile(samples, count, 0.999);
    return 0;
}

void trial_exactly(uint64_t count)
{
    exactly = count;
}

const volatile uint64_t *trial_mark(void)
{
    return &mark;
}

void trial_tell(const char *what)
{
    (void)!write(-1, what, strlen(what));
}

static uint64_t faults_of(pid_t peer)
{
    struct rusage mine;

    getrusage(RUSAGE_SELF, &mine);
    return (uint64_t)mine.ru_minflt + place_faults(peer);
}

static int run_exactly(const struct trial_plan *plan, struct trial *out)
{
    uint64_t per = plan->per > 0 ? plan->per : 1, before = 0;
    uint64_t warm = (EXACT_WARM + per - 1) / per, count = (exactly + per - 1) / per;
    int r = 0;

    for (uint64_t i = 0; r >= 0 && i < warm + count; i++) {
        if (i == warm) {
            before = faults_of(plan->peer);
            trial_tell(TRIAL_BEGIN);
        }
        if (i >= warm)
            mark = i;
        r = plan->once(plan->user);
    }
    mark = 0;
    trial_tell(TRIAL_END);
    out->n = count * per;
    out->faults = (double)(faults_of(plan->peer) - before) / (double)out->n;
    return r < 0 ? r : 0;
}

int trial_run(const struct trial_plan *plan, struct trial *out)
{
    struct rusage before, after;
    uint64_t peer_before;
    uint32_t batch = 1;
    int r;

    if (exactly > 0)
        return run_exactly(plan, out);
    memset(samples, 0, sizeof samples); /* so that no page is touched first while it counts */
    memset(batches, 0, sizeof batches);
    out->fifo = plan->fifo && plan->ms <= FIFO_MS_MAX && place_fifo(plan->peer, true) == 0;
    getrusage(RUSAGE_THREAD, &before);
    peer_before = place_preempted(plan->peer);
    r = warm_up(plan, &batch);
    if (r == 0)
        r = in_batches(plan, batch, out);
    if (r == 0)
        r = one_by_one(plan, out);
    getrusage(RUSAGE_THREAD, &after);
    if (plan->fifo)
        (void)place_fifo(plan->peer, false);
    out->preempted = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw) +
                     (place_preempted(plan->peer) - peer_before);
    return r;
}
