/* SPDX-License-Identifier: Apache-2.0 */
/* pinned: calls in the default mode where both sides were pinned to two CPUs in an order that the
 * library does not see: the host before the guest is born, which then is born on the CPU of the
 * host, or when it is there; the plugin in its `init`, or in a method. */
#include <errno.h>
#include <string.h>

#include "tests/bench/place.h"
#include "tests/bench/stage.h"

#define EARLY 100 /* calls in which it is to be settled */

enum pinned_kind { BEFORE = 1, IN_METHOD = 2 };

RAPAHUB_STUB(add, i64, i64, i64);
RAPAHUB_STUB(pin, void, u32);

static int once_add(void *user)
{
    struct stage *stage = user;
    int64_t sum = 0;
    int r = add(stage->host, stage->containers[0], 40, 2, &sum);

    return r < 0 ? r : sum == 42 ? 0 : -EIO;
}

static int begin(const struct suite_subject *subject, struct trial *out, struct stage *stage)
{
    uint32_t cpu = place_cpu(1);
    bool in_method = (subject->kind & IN_METHOD) != 0;
    const struct stage_options how = {
        .trust = RAPAHUB_TRUST_TRUSTED,
        .as_it_is = true,
        .params = {in_method ? NULL : &cpu, in_method ? 0 : sizeof cpu}};
    int r = place_pin(0, subject->kind & BEFORE ? 0 : -1);

    if (r == 0)
        r = stage_open(subject, &how, out, stage);
    if (r == 0)
        r = place_pin(0, 0);
    if (r == 0 && in_method)
        r = pin(stage->host, stage->containers[0], cpu);
    return r;
}

/* Nothing is timed before, so it takes place within so many calls, or shows in the median. `second`
 * is what each of these took. */
static int first_calls(struct stage *stage, struct trial *out)
{
    uint64_t from = trial_now();

    for (int i = 0; i < EARLY; i++) {
        int r = once_add(stage);

        if (r < 0)
            return r;
    }
    out->second = (double)(trial_now() - from) / EARLY;
    return 0;
}

/* Makes as many calls again, one by one: a trial of some ms would hide slow ones. */
static int next_calls(struct stage *stage, struct trial *out)
{
    static double samples[EARLY];

    for (int i = 0; i < EARLY; i++) {
        uint64_t from = trial_cycles();
        int r = once_add(stage);

        if (r < 0)
            return r;
        samples[i] = trial_ns(trial_cycles() - from);
    }
    out->n = EARLY;
    out->batch_ns = out->p50_ns = trial_quantile(samples, EARLY, 0.5);
    out->p90_ns = trial_quantile(samples, EARLY, 0.9);
    return 0;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    struct stage stage;
    int r = begin(subject, out, &stage);

    (void)options;
    if (r == 0)
        r = first_calls(&stage, out);
    if (r == 0)
        r = next_calls(&stage, out);
    if (r < 0)
        (void)stage_failed(subject->id, r);
    stage_close(&stage);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject pinned_subjects[] = {
    {"pinned-before-init", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_CROSS, BEFORE, 16, 0, 0},
    {"pinned-after-init", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_CROSS, 0, 16, 0, 0},
    {"pinned-before-method", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_CROSS, BEFORE | IN_METHOD,
     16, 0, 0},
    {"pinned-after-method", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_CROSS, IN_METHOD, 16, 0, 0},
    {0},
};
