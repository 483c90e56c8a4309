/* SPDX-License-Identifier: Apache-2.0 */
/* calls: what a call costs, by how both sides wait and where they run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/route.h>

#include "tests/bench/four.h"
#include "tests/bench/place.h"
#include "tests/bench/stage.h"

#define LARGE    (1U << 20)
#define IN_LOAN  8 /* bytes that are written into a loan, and read from what comes back */
#define PAYLOADS (LARGE + 4096)

enum call_kind { ADD, RAW, LOAN, NESTED, ADDF, ADDR };
enum call_host { PLAIN, STANDARD, ROUTED }; /* with a standard guest; with a router */

RAPAHUB_STUB(add, i64, i64, i64);
RAPAHUB_STUB(addf, f64, f64, f64);
RAPAHUB_STUB(addr, f64, bench_four);
RAPAHUB_STUB(raw, bytes, bytes);
RAPAHUB_STUB(nested, i64, i64, i64);

struct calls {
    struct stage stage;
    uint32_t size;
    uint64_t loan_id;
    uint8_t *data;
};

static int once_add(void *user)
{
    struct calls *calls = user;
    int64_t sum = 0;
    int r = add(calls->stage.host, calls->stage.containers[0], 40, 2, &sum);

    return r < 0 ? r : sum == 42 ? 0 : -EIO;
}

static int once_addf(void *user)
{
    struct calls *calls = user;
    double sum = 0;
    int r = addf(calls->stage.host, calls->stage.containers[0], 40, 2, &sum);

    return r < 0 ? r : sum > 41 && sum < 43 ? 0 : -EIO;
}

static int once_addr(void *user)
{
    const struct bench_four four = {30, 10, 1.5, 0.5};
    struct calls *calls = user;
    double sum = 0;
    int r = addr(calls->stage.host, calls->stage.containers[0], four, &sum);

    return r < 0 ? r : sum > 41 && sum < 43 ? 0 : -EIO;
}

static int once_nested(void *user)
{
    struct calls *calls = user;
    int64_t sum = 0;
    int r = nested(calls->stage.host, calls->stage.containers[0], 40, 2, &sum);

    return r < 0 ? r : sum == 42 ? 0 : -EIO;
}

static int once_raw(void *user)
{
    struct calls *calls = user;
    struct rapahub_bytes answer;
    int r = raw(calls->stage.host, calls->stage.containers[0],
                (struct rapahub_bytes){calls->data, calls->size}, &answer);

    return r < 0 ? r : answer.size == calls->size ? 0 : -EIO;
}

/* Written where the guest reads it, and read where the guest wrote it. */
static int once_loan(void *user)
{
    struct calls *calls = user;
    struct rapahub_loan loan;
    struct rapahub_bytes in, answer;
    const void *const arguments[] = {&in};
    const struct rapahub_call call = {.target = calls->stage.containers[0],
                                      .method = "lend",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .loan = &loan,
                                      .view = true,
                                      .method_id = &calls->loan_id};
    int r = rapahub_host_loan(calls->stage.host, calls->stage.containers[0], calls->size, &loan);

    if (r < 0)
        return r;
    memcpy(loan.data, calls->data, IN_LOAN);
    in = (struct rapahub_bytes){loan.data, calls->size};
    r = rapahub_host_call(calls->stage.host, &call, &answer);
    if (r < 0) {
        rapahub_host_drop_loan(calls->stage.host, &loan);
        return r;
    }
    return answer.size == calls->size && memcmp(answer.data, calls->data, IN_LOAN) == 0 ? 0 : -EIO;
}

/* The host's end of a nested call. */
static int add_here(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

static const struct rapahub_method here_methods[] = {
    RAPAHUB_METHOD(nested, add_here, i64, i64, i64),
    RAPAHUB_METHOD_END,
};

static int offer(struct stage *stage)
{
    const struct rapahub_container_options here = {.id = {{2, 0}, 0}, .pool_name = "here"};
    int r = rapahub_host_offer(stage->host, &here, here_methods, NULL);

    return r < 0 ? stage_failed("offer", r) : 0;
}

/* A router that is never asked, as that of a node whose call goes to this host. */
static int refuse(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer)
{
    (void)user;
    (void)call;
    (void)answer;
    return rapahub_fail(RAPAHUB_ENOPOOL, "", "nothing is elsewhere");
}

static int route(struct stage *stage)
{
    const struct rapahub_router router = {.begin = refuse};
    int r = rapahub_host_set_router(stage->host, &router);

    return r < 0 ? stage_failed("router", r) : 0;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static int (*const once[])(void *) = {once_add,    once_raw,  once_loan,
                                          once_nested, once_addf, once_addr};
    const struct stage_options how = {
        .host = {.payload_max = subject->kind == LOAN || subject->size > 65536 ? PAYLOADS : 0},
        .trust = subject->guests == STANDARD ? RAPAHUB_TRUST_STANDARD : RAPAHUB_TRUST_TRUSTED};
    struct calls calls = {.size = subject->size, .data = calloc(1, LARGE)};
    struct trial_plan plan = {.once = once[subject->kind],
                              .user = &calls,
                              .ms = options->trial_ms,
                              .fifo = subject->mode == SUITE_POLL && options->fifo};
    int r = calls.data ? stage_open(subject, &how, out, &calls.stage) : -ENOMEM;

    if (r == 0 && subject->kind == NESTED)
        r = offer(&calls.stage);
    if (r == 0 && subject->guests == ROUTED)
        r = route(&calls.stage);
    if (r == 0) {
        memset(calls.data, 7, LARGE);
        plan.peer = calls.stage.pids[0];
        r = trial_run(&plan, out);
        if (r < 0)
            (void)stage_failed(subject->id, r);
    }
    stage_close(&calls.stage);
    free(calls.data);
    return r;
}

#define INLINE 8 /* bytes that go inline with what precedes them */

/* id, what, run, mode, place, kind, size, guests: enum call_host */
const struct suite_subject calls_subjects[] = {
    {"add", "i64, i64 -> i64", run, SUITE_POLL, SUITE_CROSS, ADD, 16, 0, 0},
    {"add-ffi", "f64, f64 -> f64", run, SUITE_POLL, SUITE_CROSS, ADDF, 16, 0, 0},
    {"add-record", "{i64, i64, f64, f64} -> f64", run, SUITE_POLL, SUITE_CROSS, ADDR, 32, 0, 0},
    {"raw", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, INLINE, 0, 0},
    {"add-sleep", "i64, i64 -> i64", run, SUITE_SLEEP, SUITE_CROSS, ADD, 16, 0, 0},
    {"add-sleep-same", "i64, i64 -> i64", run, SUITE_SLEEP, SUITE_SAME, ADD, 16, 0, 0},
    {"add-adapt", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_CROSS, ADD, 16, 0, 0},
    {"add-adapt-same", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_SAME, ADD, 16, 0, 0},
    {"add-adapt-free", "i64, i64 -> i64", run, SUITE_ADAPT, SUITE_FREE, ADD, 16, 0, 0},
    {"add-bell", "i64, i64 -> i64", run, SUITE_BELL, SUITE_CROSS, ADD, 16, 0, 0},
    {"nested", "host, guest, host", run, SUITE_POLL, SUITE_CROSS, NESTED, 16, 0, 0},
    {"raw-32", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, 32, 0, 0},
    {"raw-33", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, 33, 0, 0},
    {"raw-256", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, 256, 0, 0},
    {"raw-4k", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, 4096, 0, 0},
    {"raw-64k", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, 65536, 0, 0},
    {"raw-1m", "bytes -> bytes", run, SUITE_POLL, SUITE_CROSS, RAW, LARGE, 0, 0},
    {"loan-8", "lent, viewed", run, SUITE_POLL, SUITE_CROSS, LOAN, 8, 0, 0},
    {"loan-32", "lent, viewed", run, SUITE_POLL, SUITE_CROSS, LOAN, 32, 0, 0},
    {"loan-256", "lent, viewed", run, SUITE_POLL, SUITE_CROSS, LOAN, 256, 0, 0},
    {"loan-4k", "lent, viewed", run, SUITE_POLL, SUITE_CROSS, LOAN, 4096, 0, 0},
    {"loan-64k", "lent, viewed", run, SUITE_POLL, SUITE_CROSS, LOAN, 65536, 0, 0},
    {"loan-1m", "lent, viewed", run, SUITE_POLL, SUITE_CROSS, LOAN, LARGE, 0, 0},
    {"raw-std", "to a standard guest", run, SUITE_POLL, SUITE_CROSS, RAW, INLINE, STANDARD, 0},
    {"add-sleep-std", "to a standard guest", run, SUITE_SLEEP, SUITE_CROSS, ADD, 16, STANDARD, 0},
    {"raw-routed", "a router is set", run, SUITE_POLL, SUITE_CROSS, RAW, INLINE, ROUTED, 0},
    {0},
};
