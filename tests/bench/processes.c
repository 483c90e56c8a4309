/* SPDX-License-Identifier: Apache-2.0 */
/* processes: how long a guest takes to come, and to come back after SIGKILL. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/stage.h"

#define SAMPLES_MAX 200 /* fewer than the restarts a supervision may allow */
#define SAMPLES_MIN 8
#define SAMPLES_FEW 3 /* for operations that take long */
#define WITHIN_MS   5000
#define BALLAST     ((size_t)1 << 30)
#define PENDING     1000

enum process_kind { SPAWN, BURDENED, RESPAWN, RESPAWN_LARGE, PENDING_LOST };

RAPAHUB_STUB(add, i64, i64, i64);
RAPAHUB_STUB(hold, void, u64);

static struct {
    uint64_t down, ready; /* when the last such event came; 0: not yet */
    struct rapahub_guest_id guest;
    uint32_t lost;
    uint64_t last_lost;
} seen;

static void on_event(void *user, const struct rapahub_event *event)
{
    (void)user;
    if (event->kind == RAPAHUB_EVENT_DOWN)
        seen.down = trial_now();
    else if (event->kind == RAPAHUB_EVENT_READY) {
        seen.ready = trial_now();
        seen.guest = event->guest;
    }
}

static void on_lost(void *user, int status, const void *result)
{
    (void)user;
    (void)status;
    (void)result;
    seen.lost++;
    seen.last_lost = trial_now();
}

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    *(pid_t *)user = status->pid;
}

static bool is_ready(void)
{
    return seen.ready != 0;
}

static bool is_all_lost(void)
{
    return seen.lost == PENDING;
}

static int dispatch_until(struct stage *stage, bool (*holds)(void))
{
    int r = stage_dispatch(stage, holds, WITHIN_MS);

    return r < 0 ? r : r == 0 ? -ETIMEDOUT : 0;
}

/* Time from the call to the guest that serves; it is stopped again, which is not timed. */
static int spawn_once(struct stage *stage, const struct stage_options *how, double *ns)
{
    const struct rapahub_guest_options plugin = {.chimod = BENCH_CHIMOD, .trust = how->trust};
    struct rapahub_guest_id guest;
    uint64_t start = trial_now();
    int r = rapahub_host_spawn(stage->host, &plugin, &guest);

    *ns = (double)(trial_now() - start);
    return r < 0 ? r : rapahub_host_stop(stage->host, guest);
}

/* A thousand calls that are not answered, since the guest stands still. */
static int leave_pending(struct stage *stage, pid_t pid)
{
    const int64_t a = 1;
    const void *const arguments[] = {&a, &a};
    const struct rapahub_call call = {.target = stage->containers[0],
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64, i64),
                                      .arguments = arguments};
    int r = kill(pid, SIGSTOP) < 0 ? -errno : 0;

    seen.lost = 0;
    for (int i = 0; r == 0 && i < PENDING; i++)
        r = rapahub_host_call_async(stage->host, &call, on_lost, NULL, NULL);
    return r;
}

/* SIGKILL until the next life serves, and until the death was told; its containers answer. */
static int respawn_once(struct stage *stage, uint32_t kind, double *ready_ns, double *told_ns)
{
    pid_t pid = 0;
    uint64_t start;
    int64_t sum;
    int r = rapahub_host_guests(stage->host, note_pid, &pid);

    if (r == 0 && kind == PENDING_LOST)
        r = leave_pending(stage, pid);
    if (r == 0 && kind == RESPAWN_LARGE)
        r = hold(stage->host, stage->containers[0], BALLAST);
    seen.down = seen.ready = 0;
    start = trial_now();
    if (r == 0 && kill(pid, SIGKILL) < 0)
        r = -errno;
    if (r == 0)
        r = dispatch_until(stage, is_ready);
    if (r == 0 && kind == PENDING_LOST)
        r = dispatch_until(stage, is_all_lost);
    *ready_ns = (double)(seen.ready - start);
    *told_ns = (double)((kind == PENDING_LOST ? seen.last_lost : seen.down) - start);
    return r == 0 ? add(stage->host, stage->containers[0], 1, 2, &sum) : r;
}

/* Pages that make a fork slow, and must not make this slow. */
static void *ballast_of(const struct suite_subject *subject, struct trial *out, int *r)
{
    void *ballast = subject->kind == BURDENED ? malloc(BALLAST) : NULL;

    if (subject->kind == BURDENED && !ballast)
        *r = stage_not_here(out, "needs 1 GiB of memory");
    if (ballast)
        memset(ballast, 1, BALLAST);
    return ballast;
}

/* p50: until it is ready; value: ns until the death, or the last lost call, was told. */
static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static const struct rapahub_supervision at_once = {
        .restarts_max = 256, .backoff_initial_ns = 1, .backoff_max_ns = 1};
    bool again = subject->kind >= RESPAWN;
    const struct stage_options how = {.host = {.on_event = on_event, .ring_size = 2048},
                                      .supervision = &at_once,
                                      .nobody = !again,
                                      .trust = subject->guests > 0 ? RAPAHUB_TRUST_STANDARD
                                                                   : RAPAHUB_TRUST_TRUSTED};
    static double ready[SAMPLES_MAX], told[SAMPLES_MAX];
    uint64_t until = trial_now() + (uint64_t)(options->trial_ms * 1e6);
    uint32_t least = subject->kind == RESPAWN_LARGE ? SAMPLES_FEW : SAMPLES_MIN;
    struct stage stage;
    int r = stage_open(subject, &how, out, &stage);
    void *ballast = ballast_of(subject, out, &r);
    uint32_t n = 0;

    while (r == 0 && n < SAMPLES_MAX && (n < least || trial_now() < until)) {
        r = again ? respawn_once(&stage, subject->kind, &ready[n], &told[n])
                  : spawn_once(&stage, &how, &ready[n]);
        n += r == 0;
    }
    if (r < 0)
        (void)stage_failed(subject->id, r);
    out->n = n;
    out->p50_ns = out->batch_ns = trial_quantile(ready, n, 0.5);
    out->p90_ns = trial_quantile(ready, n, 0.9);
    out->value = again ? trial_quantile(told, n, 0.5) : 0;
    free(ballast);
    stage_close(&stage);
    return r;
}

/* id, what, run, mode, place, kind, size, guests (1: a standard one), rounds */
const struct suite_subject processes_subjects[] = {
    {"spawn", "spawn to ready", run, SUITE_ADAPT, SUITE_FREE, SPAWN, 0, 0, 0},
    {"spawn-std", "the same, standard", run, SUITE_ADAPT, SUITE_FREE, SPAWN, 0, 1, 0},
    {"spawn-1g", "with 1 GiB in the host", run, SUITE_ADAPT, SUITE_FREE, BURDENED, 0, 0, 3},
    {"respawn", "SIGKILL to ready", run, SUITE_ADAPT, SUITE_FREE, RESPAWN, 0, 0, 0},
    {"respawn-1g", "of a guest of 1 GiB", run, SUITE_ADAPT, SUITE_FREE, RESPAWN_LARGE, 0, 0, 3},
    {"pending", "with 1,000 calls", run, SUITE_ADAPT, SUITE_FREE, PENDING_LOST, 0, 0, 3},
    {0},
};
