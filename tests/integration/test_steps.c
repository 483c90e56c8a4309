/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that no thread waits for, in a guest that is killed at any moment, or stopped: each ends
 * once, and the host serves on. */
#include <errno.h>
#include <pthread.h>

#include <rapahub/route.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define COUNTER MODULE("counter")
#define MS      UINT64_C(1000000)
#define ROUNDS  60
#define STEPS   5
#define SPAN_US 300 /* within which a guest is killed */

static const struct rapahub_supervision at_once = {.restarts_max = 256,
                                                   .backoff_initial_ns = RAPAHUB_NONE};
static const struct rapahub_supervision late = {.restarts_max = 2,
                                                .period_ns = 3600 * 1000 * MS,
                                                .backoff_initial_ns = 60 * 1000 * MS,
                                                .backoff_max_ns = 60 * 1000 * MS,
                                                .backoff_first = true};

struct ends {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned count;
    int codes[STEPS];
};

struct end {
    struct ends *ends;
    unsigned step;
};

/* r[verify cluster.step] */
static void on_done(void *user, int status, const void *result)
{
    const struct end *end = user;

    (void)result;
    pthread_mutex_lock(&end->ends->lock);
    assert_int_equal(end->ends->codes[end->step], 1); /* once */
    end->ends->codes[end->step] = status;
    end->ends->count++;
    pthread_cond_signal(&end->ends->changed);
    pthread_mutex_unlock(&end->ends->lock);
}

/* A step that could not begin has ended, too. */
static void note(struct ends *ends, unsigned step, int r)
{
    struct end end = {ends, step};

    if (r < 0)
        on_done(&end, r, NULL);
}

/* Begins them all at once: none waits for another. */
static void begin_all(struct hosting *on, struct ends *ends, struct end *each, uint64_t timeout_ns)
{
    const struct rapahub_container_options options = {
        .id = here, .pool_name = "test", .managed = true};
    const struct rapahub_question question = {.kind = RAPAHUB_QUESTION_HEALTH};
    struct rapahub_step steps[STEPS];

    for (unsigned i = 0; i < STEPS; i++) {
        each[i] = (struct end){ends, i};
        ends->codes[i] = 1;
        steps[i] = (struct rapahub_step){
            .target = here, .timeout_ns = timeout_ns, .on_done = on_done, .user = &each[i]};
    }
    ends->count = 0;
    note(ends, 0,
         rapahub_host_begin_async(on->host, &steps[0], on->guest, &options, RAPAHUB_BEGIN_INIT));
    note(ends, 1, rapahub_host_plug_async(on->host, &steps[1], true));
    note(ends, 2, rapahub_host_ask_async(on->host, &steps[2], &question));
    note(ends, 3, rapahub_host_drain_async(on->host, &steps[3]));
    note(ends, 4, rapahub_host_remove_async(on->host, &steps[4]));
}

static void await_all(struct ends *ends)
{
    pthread_mutex_lock(&ends->lock);
    while (ends->count < STEPS)
        pthread_cond_wait(&ends->changed, &ends->lock);
    pthread_mutex_unlock(&ends->lock);
}

struct present {
    struct rapahub_guest_id guest;
    int32_t pid;
    bool ready;
};

static void find(void *user, const struct rapahub_guest_status *status)
{
    struct present *present = user;

    *present = (struct present){status->guest, status->pid, !strcmp(status->state, "ready")};
}

/* Waits until the guest serves. */
static int32_t await_guest(struct hosting *on)
{
    struct present present = {.ready = false};

    for (int i = 0; i < 1000 && !present.ready; i++) {
        assert_done(rapahub_host_guests(on->host, find, &present));
        if (!present.ready)
            pause_ns(10 * MS);
    }
    assert_true(present.ready);
    on->guest = present.guest;
    return present.pid;
}

static void open_counter(struct hosting *on, struct ends *ends,
                         const struct rapahub_supervision *how)
{
    const struct rapahub_guest_options guest = {.chimod = COUNTER, .supervision = how};

    memset(ends, 0, sizeof *ends);
    pthread_mutex_init(&ends->lock, NULL);
    pthread_cond_init(&ends->changed, NULL);
    open_host(on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
}

static void close_counter(struct hosting *on, struct ends *ends)
{
    close_host(on);
    pthread_cond_destroy(&ends->changed);
    pthread_mutex_destroy(&ends->lock);
}

/* Puts a container there and lets it go: so the host and the guest are well. */
static void check_serves(struct hosting *on)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    int r = rapahub_host_remove_container(on->host, here);

    assert_true(r == 0 || r == RAPAHUB_ENOENT);
    assert_done(rapahub_host_begin(on->host, on->guest, &options, RAPAHUB_BEGIN_INIT, NULL));
    assert_done(ask(on, "begun() -> u32", NULL, &(uint32_t){0}));
    assert_done(rapahub_host_remove_container(on->host, here));
}

static uint64_t random_of(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void each_step_ends_once_whenever_its_guest_is_killed(void **state)
{
    unsigned done = 0, died = 0;
    uint64_t seed = 4711;
    struct end each[STEPS];
    struct hosting on;
    struct ends ends;

    (void)state;
    open_counter(&on, &ends, &at_once);
    for (int i = 0; i < ROUNDS; i++) {
        int32_t pid = await_guest(&on);

        if (i % 2 != 0) /* nothing is answered before it dies */
            assert_int_equal(kill(pid, SIGSTOP), 0);
        begin_all(&on, &ends, each, 200 * MS); /* a container that is down is waited for */
        pause_ns(1000 * (random_of(&seed) % SPAN_US));
        assert_int_equal(kill(pid, SIGKILL), 0);
        await_all(&ends);
        for (unsigned step = 0; step < STEPS; step++) {
            done += ends.codes[step] == 0;
            died += ends.codes[step] == RAPAHUB_EDIED;
        }
        for (int wait = 0; wait < 1000 && kill(pid, 0) == 0; wait++)
            pause_ns(MS);
    }
    (void)await_guest(&on);
    check_serves(&on);
    print_message("%d kills, %u steps were done, %u ended with their guest\n", ROUNDS, done, died);
    assert_true(done > 0 && died >= ROUNDS / 2);
    close_counter(&on, &ends);
}

static void each_step_ends_at_its_time_if_its_guest_is_stopped(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    struct end each[STEPS];
    struct hosting on;
    struct ends ends;
    int32_t pid;
    int r;

    (void)state;
    open_counter(&on, &ends, &at_once);
    pid = await_guest(&on);
    for (int i = 0; i < 5; i++) {
        assert_done(rapahub_host_begin(on.host, on.guest, &options, RAPAHUB_BEGIN_INIT, NULL));
        assert_int_equal(kill(pid, SIGSTOP), 0);
        begin_all(&on, &ends, each, 100 * MS);
        await_all(&ends);
        assert_int_equal(ends.codes[0], RAPAHUB_EEXIST);
        for (unsigned step = 1; step < STEPS; step++)
            assert_int_equal(ends.codes[step], step == 3 ? ends.codes[3] : (int)RAPAHUB_ETIMEDOUT);
        assert_true(ends.codes[3] == RAPAHUB_ETIMEDOUT || ends.codes[3] == RAPAHUB_ESTATE);
        assert_int_equal(kill(pid, SIGCONT), 0);
        pause_ns(20 * MS);
        r = rapahub_host_remove_container(on.host, here); /* it may have ended late */
        assert_true(r == 0 || r == RAPAHUB_ENOENT);
    }
    close_counter(&on, &ends);
}

/* With a guest that stands still, and with one that comes back much later. r[verify cluster.step]
 */
static void each_step_ends_with_its_host(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    const int signals[] = {SIGSTOP, SIGKILL};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct end each[STEPS];
        struct hosting on;
        struct ends ends;
        int32_t pid;

        open_counter(&on, &ends, &late);
        pid = await_guest(&on);
        assert_done(rapahub_host_begin(on.host, on.guest, &options, RAPAHUB_BEGIN_INIT, NULL));
        assert_int_equal(kill(pid, signals[i]), 0);
        pause_ns(100 * MS);
        begin_all(&on, &ends, each, 60000 * MS);
        close_counter(&on, &ends);
        assert_int_equal(ends.count, STEPS);
    }
}

/* Nothing else happens that it could hear of. r[verify cluster.step] */
static void a_step_goes_on_as_soon_as_its_container_is_begun_again(void **state)
{
    const struct rapahub_container_options options = {
        .id = here, .pool_name = "test", .managed = true};
    const struct rapahub_question question = {.kind = RAPAHUB_QUESTION_HEALTH};
    struct hosting on;
    struct ends ends;

    (void)state;
    open_counter(&on, &ends, &at_once);
    (void)await_guest(&on);
    assert_done(rapahub_host_begin(on.host, on.guest, &options, RAPAHUB_BEGIN_INIT, NULL));
    for (int i = 0; i < 3; i++) {
        struct end end = {&ends, 0};
        const struct rapahub_step step = {
            .target = here, .timeout_ns = 30000 * MS, .on_done = on_done, .user = &end};
        unsigned ready = __atomic_load_n(&on.told.ready, __ATOMIC_RELAXED);
        uint64_t began;

        ends.codes[0] = 1;
        ends.count = STEPS - 1;
        assert_done(rapahub_host_kill(on.host, on.guest));
        while (__atomic_load_n(&on.told.ready, __ATOMIC_RELAXED) == ready)
            pause_ns(MS);
        (void)await_guest(&on);
        assert_done(rapahub_host_ask_async(on.host, &step, &question));
        pause_ns(20 * MS);
        pthread_mutex_lock(&ends.lock);
        assert_int_equal(ends.count, STEPS - 1);
        pthread_mutex_unlock(&ends.lock);
        began = now_ms();
        assert_done(rapahub_host_begin(on.host, on.guest, &options, RAPAHUB_BEGIN_RESTART, NULL));
        await_all(&ends);
        assert_int_equal(ends.codes[0], 0);
        assert_in_range(now_ms() - began, 0, 10000);
    }
    close_counter(&on, &ends);
}

static void keep_code(void *user, int status, const void *result)
{
    (void)result;
    __atomic_store_n((int *)user, status, __ATOMIC_RELEASE);
}

static int await_code(const int *code)
{
    for (int i = 0; i < 10000 && __atomic_load_n(code, __ATOMIC_ACQUIRE) == 1; i++)
        pause_ns(MS);
    return __atomic_load_n(code, __ATOMIC_ACQUIRE);
}

/* The begin that came too late must not serve instead of the next one. */
static void a_container_whose_begin_was_late_is_not_called(void **state)
{
    const struct rapahub_container_options slow = {
        .id = here, .pool_name = "test", .params = {"slow", 4}, .token = 1};
    const struct rapahub_container_options next = {.id = here, .pool_name = "test", .token = 2};
    int code = 1;
    struct rapahub_step step = {
        .target = here, .timeout_ns = 50 * MS, .on_done = keep_code, .user = &code};
    uint64_t token = 0;
    struct hosting on;
    struct ends ends;

    (void)state;
    open_counter(&on, &ends, &at_once);
    assert_done(rapahub_host_begin_async(on.host, &step, on.guest, &slow, RAPAHUB_BEGIN_INIT));
    assert_int_equal(await_code(&code), RAPAHUB_ETIMEDOUT);
    assert_done(rapahub_host_begin(on.host, on.guest, &next, RAPAHUB_BEGIN_INIT, NULL));
    assert_done(ask(&on, "token() -> u64", NULL, &token));
    assert_int_equal(token, 2);
    close_counter(&on, &ends);
}

/* The next begin in that life finds no container there. */
static void a_managed_container_whose_begin_was_late_begins_again(void **state)
{
    struct rapahub_container_options options = {
        .id = here, .pool_name = "test", .params = {"slow", 4}, .token = 1, .managed = true};
    int code = 1;
    const struct rapahub_step step = {
        .target = here, .timeout_ns = 50 * MS, .on_done = keep_code, .user = &code};
    uint64_t token = 0;
    unsigned ready;
    struct hosting on;
    struct ends ends;

    (void)state;
    open_counter(&on, &ends, &at_once);
    assert_done(rapahub_host_begin(on.host, on.guest, &options, RAPAHUB_BEGIN_INIT, NULL));
    ready = __atomic_load_n(&on.told.ready, __ATOMIC_RELAXED);
    assert_done(rapahub_host_kill(on.host, on.guest));
    while (__atomic_load_n(&on.told.ready, __ATOMIC_RELAXED) == ready)
        pause_ns(MS);
    (void)await_guest(&on);
    assert_done(
        rapahub_host_begin_async(on.host, &step, on.guest, &options, RAPAHUB_BEGIN_RESTART));
    assert_int_equal(await_code(&code), RAPAHUB_ETIMEDOUT);
    options.token = 2;
    assert_done(rapahub_host_begin(on.host, on.guest, &options, RAPAHUB_BEGIN_RESTART, NULL));
    assert_done(ask(&on, "token() -> u64", NULL, &token));
    assert_int_equal(token, 2);
    close_counter(&on, &ends);
}

static int keep_call(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id id)
{
    (void)user;
    (void)call;
    (void)id;
    return 0;
}

struct last_step {
    struct rapahub_host *host;
    int begun, told;
};

static void on_last_done(void *user, int status, const void *result)
{
    struct last_step *last = user;

    (void)status;
    (void)result;
    last->told++;
}

static void begin_last(void *user, int status, const void *result)
{
    struct last_step *last = user;
    const struct rapahub_step step = {.target = here, .on_done = on_last_done, .user = last};

    (void)status;
    (void)result;
    last->begun += rapahub_host_drain_async(last->host, &step) == 0;
}

/* A callback at the end of the host begins one more. */
static void a_step_that_begins_as_its_host_ends_is_told_or_refused(void **state)
{
    const struct rapahub_router router = {.begin = keep_call};
    const struct rapahub_call call = {.target = {.pool = {9, 9}}, .method = "nothing()"};
    struct last_step last = {0};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    last.host = on.host;
    assert_done(rapahub_host_set_router(on.host, &router));
    assert_done(rapahub_host_call_async(on.host, &call, begin_last, &last, NULL));
    assert_true(rapahub_host_dispatch(on.host, 0) >= 0);
    close_host(&on);
    assert_int_equal(last.told, last.begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_ends_with_its_host),
        cmocka_unit_test(a_container_whose_begin_was_late_is_not_called),
        cmocka_unit_test(a_managed_container_whose_begin_was_late_begins_again),
        cmocka_unit_test(a_step_that_begins_as_its_host_ends_is_told_or_refused),
        cmocka_unit_test(a_step_goes_on_as_soon_as_its_container_is_begun_again),
        cmocka_unit_test(each_step_ends_once_whenever_its_guest_is_killed),
        cmocka_unit_test(each_step_ends_at_its_time_if_its_guest_is_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
