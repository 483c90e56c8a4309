/* SPDX-License-Identifier: Apache-2.0 */
/* Upgrades while four threads call: no call is lost, none is executed twice, and how long calls are
 * held; then with processes that are killed at any moment. */
#include <errno.h>
#include <pthread.h>

#include <rapahub/supervise.h>
#include <rapahub/upgrade.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define LEDGER   MODULE("ledger")
#define LEDGER2  MODULE("ledger2")
#define THREADS  4
#define UPGRADES 24
#define KILLS    24
#define RANGE    (UINT64_C(1) << 20) /* calls of one thread, at most */

struct caller {
    struct hosting *on;
    pthread_t thread;
    uint64_t first, count; /* calls; each enters a number of its own */
    uint64_t failed;       /* calls that ended with an error */
    int last;              /* the last of these numbers */
    unsigned char *answers;
    bool tolerant;
    int *end;
};

static uint64_t number_of(const struct caller *caller, uint64_t call)
{
    return call * THREADS + caller->first;
}

static void *run(void *user)
{
    struct caller *caller = user;
    uint32_t version;

    while (!__atomic_load_n(caller->end, __ATOMIC_RELAXED) && caller->count < RANGE) {
        uint64_t number = number_of(caller, caller->count);
        const struct rapahub_call call = {.target = here,
                                          .method = "enter(u64) -> u32",
                                          .arguments = (const void *const[]){&number, NULL},
                                          .timeout_ns = UINT64_C(20000000000)};
        int r = rapahub_host_call(caller->on->host, &call, &version);

        caller->answers[caller->count++] = r == 0;
        if (r == 0)
            continue;
        caller->failed++;
        caller->last = r;
    }
    return NULL;
}

static void begin(struct caller *callers, struct hosting *on, int *end)
{
    *end = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.on = on, .first = i, .answers = calloc(RANGE, 1), .end = end};
        assert_non_null(callers[i].answers);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run, &callers[i]), 0);
    }
}

static void end_all(struct caller *callers, int *end)
{
    __atomic_store_n(end, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(callers[i].thread, NULL);
}

static uint32_t count_of(struct hosting *on, uint64_t number)
{
    uint32_t count = 77;

    assert_done(ask(on, "count(u64) -> u32", (const void *const[]){&number, NULL}, &count));
    return count;
}

/* How many of the calls that were answered are not there; and how many were executed twice. */
static void judge(struct hosting *on, const struct caller *caller, uint64_t *lost,
                  uint64_t *doubled)
{
    for (uint64_t i = 0; i < caller->count; i++) {
        uint32_t count = count_of(on, number_of(caller, i));

        *lost += caller->answers[i] && count == 0;
        *doubled += count > 1;
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void open_ledger(struct hosting *on)
{
    const struct rapahub_supervision how = {.restarts_max = 256,
                                            .backoff_initial_ns = RAPAHUB_NONE,
                                            .when_down = RAPAHUB_WHEN_DOWN_WAIT};

    open_host(on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(on, LEDGER, here, &how));
}

/* r[verify supervise.upgrade.hold] */
static void no_call_is_lost_and_none_is_doubled(void **state)
{
    uint64_t blackouts[UPGRADES], lost = 0, doubled = 0, held = 0, calls = 0;
    struct caller callers[THREADS];
    struct hosting on;
    int end;

    (void)state;
    open_ledger(&on);
    begin(callers, &on, &end);
    for (unsigned i = 0; i < UPGRADES; i++) {
        const struct rapahub_upgrade_options options = {.chimod = i % 2 ? LEDGER : LEDGER2};
        struct rapahub_upgrade_result result;

        pause_ns(1000 * UINT64_C(20000));
        assert_done(rapahub_host_upgrade(on.host, on.guest, &options, &result));
        on.guest = result.guest;
        blackouts[i] = result.blackout_ns;
        held += result.calls_held;
    }
    end_all(callers, &end);
    for (unsigned i = 0; i < THREADS; i++) {
        if (callers[i].failed)
            print_error("%s\n", rapahub_error_name(callers[i].last));
        assert_int_equal(callers[i].failed, 0);
        calls += callers[i].count;
        judge(&on, &callers[i], &lost, &doubled);
        free(callers[i].answers);
    }
    qsort(blackouts, UPGRADES, sizeof *blackouts, by_size);
    print_message("%u upgrades, %llu calls of %u threads, %llu held, blackout p50 %.2f ms, p99 "
                  "%.2f ms\n",
                  UPGRADES, (unsigned long long)calls, THREADS, (unsigned long long)held,
                  (double)blackouts[UPGRADES / 2] / 1e6, (double)blackouts[UPGRADES - 1] / 1e6);
    assert_int_equal(lost, 0);
    assert_int_equal(doubled, 0);
    assert_true(held > 0);
    close_host(&on);
}

/* ---- killed at any moment ---- */

struct killer {
    struct hosting *on;
    bool old; /* the running version, else the new one */
    uint64_t after_us;
    int32_t running;
    bool killed;
};

static void find(void *user, const struct rapahub_guest_status *status)
{
    struct killer *killer = user;
    bool next = strstr(status->name, ".next") != NULL;

    if (killer->killed || status->pid <= 0 || strstr(status->name, ".old"))
        return;
    if (killer->old ? status->pid == killer->running : next)
        killer->killed = kill(status->pid, SIGKILL) == 0;
}

static void *run_killer(void *user)
{
    struct killer *killer = user;

    pause_ns(1000 * (uint64_t)(killer->after_us));
    return rapahub_host_guests(killer->on->host, find, killer) < 0 ? killer : NULL;
}

static uint64_t random_of(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Whatever is killed when: calls go on, and none is executed twice. */
static void check_serves(struct hosting *on)
{
    uint32_t version = 0;

    assert_done(ask(on, "version() -> u32", NULL, &version));
    assert_true(version == 1 || version == 2);
}

static void present_guest(void *user, const struct rapahub_guest_status *status)
{
    struct hosting *on = user;

    if (!strcmp(status->name, "ledger"))
        on->guest = status->guest;
}

/* True: it succeeded. Then the new one was killed late, if at all: it served already when the
 * signal came that was meant for it before. */
static bool upgrade_and_kill(struct hosting *on, uint64_t after_us, bool old, unsigned *late)
{
    const struct rapahub_upgrade_options options = {.chimod = LEDGER2};
    struct killer killer = {.on = on, .old = old, .after_us = after_us};
    pthread_t thread;
    int r;

    assert_done(ask(on, "pid() -> i32", NULL, &killer.running));
    assert_done(rapahub_host_guests(on->host, present_guest, on));
    assert_int_equal(pthread_create(&thread, NULL, run_killer, &killer), 0);
    r = rapahub_host_upgrade(on->host, on->guest, &options, NULL);
    pthread_join(thread, NULL);
    check_serves(on);
    *late += r == 0 && killer.killed;
    return r == 0;
}

/* How long one takes here and now, under the same load. */
static uint64_t time_upgrade_us(struct hosting *on)
{
    const struct rapahub_upgrade_options options = {.chimod = LEDGER2};
    struct rapahub_upgrade_result result;
    struct timespec from, to;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    assert_done(rapahub_host_upgrade(on->host, on->guest, &options, &result));
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    on->guest = result.guest;
    return (uint64_t)(to.tv_sec - from.tv_sec) * 1000000 +
           (uint64_t)((to.tv_nsec - from.tv_nsec) / 1000 + 1);
}

static void storm(bool old)
{
    uint64_t seed = old ? 4711 : 815, lost = 0, doubled = 0, failed = 0;
    struct caller callers[THREADS];
    unsigned succeeded = 0, late = 0;
    struct hosting on;
    uint64_t span;
    int end;

    open_ledger(&on);
    begin(callers, &on, &end);
    span = time_upgrade_us(&on);
    for (unsigned i = 0; i < KILLS; i++)
        succeeded += upgrade_and_kill(&on, random_of(&seed) % (span * 3 / 2), old, &late);
    end_all(callers, &end);
    for (unsigned i = 0; i < THREADS; i++) {
        failed += callers[i].failed;
        judge(&on, &callers[i], &lost, &doubled);
        free(callers[i].answers);
    }
    print_message("%u upgrades with a kill of the %s one, %u succeeded, %llu calls failed\n", KILLS,
                  old ? "running" : "new", succeeded, (unsigned long long)failed);
    assert_int_equal(doubled, 0);
    if (!old && late == 0) { /* nothing that served was killed */
        assert_int_equal(failed, 0);
        assert_int_equal(lost, 0);
    } else if (!old) {
        assert_in_range(failed, 0, (uint64_t)late * THREADS);
    }
    assert_true(succeeded < KILLS);
    close_host(&on);
}

static void the_new_one_is_killed_at_any_moment(void **state)
{
    (void)state;
    storm(false);
}

static void the_running_one_is_killed_at_any_moment(void **state)
{
    (void)state;
    storm(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_is_lost_and_none_is_doubled),
        cmocka_unit_test(the_new_one_is_killed_at_any_moment),
        cmocka_unit_test(the_running_one_is_killed_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
