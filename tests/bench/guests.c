/* SPDX-License-Identifier: Apache-2.0 */
/* guests: many guests of one host, quiet or in turn; what one costs in memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/spent.h"
#include "tests/bench/stage.h"

#define WITHIN_NS UINT64_C(10000000000)

enum guests_kind { QUIET, TURN, ALL, MEMORY };

RAPAHUB_STUB(add, i64, i64, i64);

struct guests {
    struct stage stage;
    uint32_t turn, done;
    int failure;
    uint64_t id;
};

static int call(struct guests *guests, uint32_t which)
{
    int64_t sum = 0;
    int r = add(guests->stage.host, guests->stage.containers[which], 40, 2, &sum);

    return r < 0 ? r : sum == 42 ? 0 : -EIO;
}

static int once_quiet(void *user)
{
    return call(user, 0);
}

static int once_turn(void *user)
{
    struct guests *guests = user;

    guests->turn = (guests->turn + 1) % guests->stage.count;
    return call(guests, guests->turn);
}

static void on_done(void *user, int status, const void *result)
{
    struct guests *guests = user;

    (void)result;
    guests->done++;
    if (status < 0)
        guests->failure = status;
}

/* A call to each, then the answers of all. */
static int once_all(void *user)
{
    struct guests *guests = user;
    const int64_t a = 40, b = 2;
    const void *const arguments[] = {&a, &b};
    struct rapahub_call call_each = {.method = "add",
                                     .types = RAPAHUB_TYPES(i64, i64, i64),
                                     .arguments = arguments,
                                     .method_id = &guests->id};
    uint64_t deadline = trial_now() + WITHIN_NS;
    int r = 0;

    guests->done = 0;
    for (uint32_t i = 0; r == 0 && i < guests->stage.count; i++) {
        call_each.target = guests->stage.containers[i];
        r = rapahub_host_call_async(guests->stage.host, &call_each, on_done, guests, NULL);
    }
    while (r >= 0 && guests->done < guests->stage.count) {
        r = rapahub_host_dispatch(guests->stage.host, 100);
        if (trial_now() > deadline)
            r = -ETIMEDOUT;
    }
    return r < 0 ? r : guests->failure;
}

/* value: private dirty bytes of an idle guest; second: how much the host has grown by each. */
static int memory(const struct suite_subject *subject, const struct suite_options *options,
                  struct trial *out)
{
    const struct stage_options how = {.host = {.guests_max = subject->guests},
                                      .trust = RAPAHUB_TRUST_TRUSTED};
    struct stage stage;
    double before, after;
    int r = stage_open(subject, &how, out, &stage);

    (void)options;
    before = spent_kilobytes(0, "Rss");
    while (r == 0 && stage.count < subject->guests)
        r = stage_add(&stage, &how);
    after = spent_kilobytes(0, "Rss");
    if (r == 0) {
        out->value = spent_kilobytes(stage.pids[0], "Private_Dirty");
        out->second = (after - before) / (stage.count - 1);
        out->n = stage.count;
    }
    stage_close(&stage);
    return r;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static int (*const once[])(void *) = {once_quiet, once_turn, once_all};
    const struct stage_options how = {.trust = RAPAHUB_TRUST_TRUSTED, .guests = subject->guests};
    static struct guests guests;
    struct trial_plan plan = {
        .once = once[subject->kind],
        .user = &guests,
        .ms = options->trial_ms * (subject->kind == QUIET ? 1 : 4),
        .per = subject->kind == ALL ? subject->guests : 1,
    };
    int r;

    guests = (struct guests){.turn = 0};
    r = stage_open(subject, &how, out, &guests.stage);
    if (r == 0) {
        r = trial_run(&plan, out);
        if (r < 0)
            (void)stage_failed(subject->id, r);
    }
    stage_close(&guests.stage);
    return r;
}

#define MOST STAGE_GUESTS_MAX

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject guests_subjects[] = {
    {"quiet-255-sleep", "254 are quiet", run, SUITE_SLEEP, SUITE_CROSS, QUIET, 16, MOST, 3},
    {"quiet-1-sleep", "alone", run, SUITE_SLEEP, SUITE_CROSS, QUIET, 16, 1, 3},
    {"quiet-255", "254 are quiet", run, SUITE_ADAPT, SUITE_CROSS, QUIET, 16, MOST, 3},
    {"quiet-1", "alone", run, SUITE_ADAPT, SUITE_CROSS, QUIET, 16, 1, 3},
    {"turn-255", "each in turn", run, SUITE_SLEEP, SUITE_CROSS, TURN, 16, MOST, 3},
    {"all-255", "a call to each", run, SUITE_ADAPT, SUITE_CROSS, ALL, 16, MOST, 3},
    {"memory", "of an idle guest", memory, SUITE_ADAPT, SUITE_FREE, MEMORY, 0, 64, 1},
    {0},
};
