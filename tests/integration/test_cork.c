/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are held back to be sent together: when the guest sees them, and that each ends once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/integration/hosting.h"

#define LOOKS   2000
#define THREADS 8
#define CALLS   600
#define KILLS   12

static void on_done(void *user, int status, const void *result)
{
    (void)result;
    *(unsigned *)user += status == 0;
}

static void begin(struct hosting *on, unsigned count, unsigned *done)
{
    static const int64_t one = 1;
    const struct rapahub_call call = {.target = here,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&one, &one, NULL}};

    for (unsigned i = 0; i < count; i++)
        assert_done(rapahub_host_call_async(on->host, &call, on_done, done, NULL));
}

/* Waits for answers that come while this thread does not wait in the library. */
static unsigned come(struct hosting *on, const unsigned *done, unsigned wanted)
{
    uint64_t end = now_ms() + (wanted > 0 ? 10000 : 0);

    for (unsigned i = 0; i < LOOKS || (*done < wanted && now_ms() < end); i++)
        assert_done(rapahub_host_dispatch(on->host, 0));
    return *done;
}

static void open_corked(struct hosting *on)
{
    open_calc(on);
    assert_done(rapahub_host_cork(on->host, here, true));
}

/* r[verify hub.ring.cork] */
static void corked_calls_are_seen_at_the_uncork(void **state)
{
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_corked(&on);
    begin(&on, 10, &done);
    assert_int_equal(come(&on, &done, 0), 0);
    assert_done(rapahub_host_cork(on.host, here, false));
    assert_int_equal(come(&on, &done, 10), 10);
    begin(&on, 1, &done);
    assert_int_equal(come(&on, &done, 11), 11);
    close_host(&on);
}

/* r[verify hub.ring.cork] */
static void sixty_four_are_not_held_back(void **state)
{
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_corked(&on);
    begin(&on, 63, &done);
    assert_int_equal(come(&on, &done, 0), 0);
    begin(&on, 1, &done);
    assert_int_equal(come(&on, &done, 64), 64);
    close_host(&on);
}

/* r[verify hub.ring.cork] */
static void a_call_that_is_waited_for_comes_behind_those_held_back(void **state)
{
    unsigned done = 0;
    struct hosting on;
    int64_t sum;

    (void)state;
    open_corked(&on);
    begin(&on, 5, &done);
    assert_done(add(&on, 1, 2, &sum));
    assert_int_equal(come(&on, &done, 5), 5);
    close_host(&on);
}

/* r[verify hub.ring.cork] */
static void a_call_of_another_guest_shows_them_too(void **state)
{
    const struct rapahub_container_id there = {.pool = {2, 0}};
    const struct rapahub_call call = {.target = there, .method = "pid() -> i32"};
    unsigned done = 0;
    struct hosting on;
    int32_t pid;

    (void)state;
    open_corked(&on);
    assert_done(start(&on, CALC, there, NULL));
    begin(&on, 5, &done);
    assert_done(rapahub_host_call(on.host, &call, &pid));
    assert_int_equal(come(&on, &done, 5), 5);
    close_host(&on);
}

/* r[verify hub.ring.cork] */
static void a_dispatch_that_may_wait_shows_them(void **state)
{
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_corked(&on);
    begin(&on, 5, &done);
    assert_true(until(&on, &done, 5));
    close_host(&on);
}

/* Everything has a slot: the held-back calls have them all, and a call on a thread of its own waits
 * for one. */
static void what_is_held_back_does_not_keep_the_slots(void **state)
{
    static const uint8_t data[100];
    const struct rapahub_bytes bytes = {data, sizeof data};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&bytes, NULL}};
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){
                       .ring_size = 32, .slot_count = 2, .slot_size = 1024, .payload_max = 1000});
    assert_done(start(&on, CALC, here, NULL));
    assert_done(rapahub_host_cork(on.host, here, true));
    for (int i = 0; i < 20; i++)
        assert_done(rapahub_host_call_async(on.host, &call, on_done, &done, NULL));
    assert_true(until(&on, &done, 20));
    close_host(&on);
}

static void the_cork_stays_over_a_restart(void **state)
{
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_corked(&on);
    begin(&on, 5, &done);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(done, 0); /* they have ended with the guest */
    begin(&on, 5, &done);
    assert_int_equal(come(&on, &done, 0), 0);
    assert_done(rapahub_host_cork(on.host, here, false));
    assert_int_equal(come(&on, &done, 5), 5);
    close_host(&on);
}

static void only_what_is_there_can_be_corked(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_refused(rapahub_host_cork(on.host, (struct rapahub_container_id){.pool = {9, 0}}, true),
                   RAPAHUB_ENOENT, "there is no container");
    close_host(&on);
}

/* ---- many threads, and a guest that dies ---- */

struct caller {
    struct hosting *on;
    pthread_t thread;
    int64_t number;
    unsigned failed;
    atomic_uint ends[CALLS];
};

static void on_end(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void call_once(struct caller *caller, int64_t number)
{
    const struct rapahub_call call = {.target = here,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments =
                                          (const void *const[]){&caller->number, &number, NULL}};
    int r;

    while ((r = rapahub_host_call_async(caller->on->host, &call, on_end, &caller->ends[number],
                                        NULL)) == -EBUSY)
        sched_yield();
    if (r < 0) /* it ends here */
        atomic_fetch_add(&caller->ends[number], 1);
}

/* The cork is everybody's: now it is in, now it is not. */
static void *run(void *user)
{
    struct caller *caller = user;

    for (int64_t i = 0; i < CALLS; i++) {
        if (i % 16 == caller->number % 16)
            caller->failed += rapahub_host_cork(caller->on->host, here, true) < 0;
        call_once(caller, i);
        if (i % 16 == (caller->number + 9) % 16)
            caller->failed += rapahub_host_cork(caller->on->host, here, false) < 0;
    }
    caller->failed += rapahub_host_cork(caller->on->host, here, false) < 0;
    return NULL;
}

static unsigned count_ended(struct caller *callers)
{
    unsigned ended = 0;

    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < CALLS; i++)
            ended += atomic_load(&callers[t].ends[i]) > 0;
    return ended;
}

/* r[verify hub.ring.cork] r[verify core.error.call-vs-connection] */
static void each_of_many_ends_once_whatever_becomes_of_the_guest(void **state)
{
    static struct caller callers[THREADS];
    const struct rapahub_supervision stubborn = {
        .restarts_max = 200, .backoff_initial_ns = 1000000, .backoff_max_ns = 2000000};
    struct hosting on;
    uint64_t end;

    (void)state;
    memset(callers, 0, sizeof callers);
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&on, CALC, here, &stubborn));
    for (int t = 0; t < THREADS; t++) {
        callers[t].on = &on;
        callers[t].number = t;
        assert_int_equal(pthread_create(&callers[t].thread, NULL, run, &callers[t]), 0);
    }
    for (int i = 0; i < KILLS; i++) {
        int32_t pid = 0;

        if (ask(&on, "pid() -> i32", NULL, &pid) == 0)
            kill(pid, SIGKILL);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(callers[t].thread, NULL);
        assert_int_equal(callers[t].failed, 0);
    }
    for (end = now_ms() + 20000; count_ended(callers) < THREADS * CALLS && now_ms() < end;)
        sched_yield();
    rapahub_host_destroy(on.host); /* nothing ends a second time */
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < CALLS; i++)
            assert_int_equal(atomic_load(&callers[t].ends[i]), 1);
    leak_assert_none(on.leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corked_calls_are_seen_at_the_uncork),
        cmocka_unit_test(sixty_four_are_not_held_back),
        cmocka_unit_test(a_call_that_is_waited_for_comes_behind_those_held_back),
        cmocka_unit_test(a_call_of_another_guest_shows_them_too),
        cmocka_unit_test(a_dispatch_that_may_wait_shows_them),
        cmocka_unit_test(what_is_held_back_does_not_keep_the_slots),
        cmocka_unit_test(the_cork_stays_over_a_restart),
        cmocka_unit_test(only_what_is_there_can_be_corked),
        cmocka_unit_test(each_of_many_ends_once_whatever_becomes_of_the_guest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
