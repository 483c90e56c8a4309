/* SPDX-License-Identifier: Apache-2.0 */
/* Calls from many threads, with an owner of one's own and with the library's. */
#include <errno.h>
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define THREADS 4
#define CALLS   2000

struct caller {
    struct hosting *on;
    pthread_t thread;
    int64_t base;
    unsigned answered, refused, wrong;
    bool tolerant; /* guests are killed meanwhile */
};

static void call_once(struct caller *caller, int64_t number)
{
    int64_t sum = 0;
    int r = add(caller->on, caller->base, number, &sum);

    if (r == 0 && sum == caller->base + number)
        caller->answered++;
    else if (caller->tolerant && (r == RAPAHUB_EDIED || r == RAPAHUB_ESTALE ||
                                  r == RAPAHUB_ERESTARTING || r == RAPAHUB_ETIMEDOUT))
        caller->refused++;
    else
        caller->wrong++;
}

static void *run(void *user)
{
    struct caller *caller = user;

    for (int64_t i = 0; i < CALLS; i++)
        call_once(caller, i);
    return NULL;
}

static void begin(struct caller *callers, struct hosting *on, bool tolerant)
{
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.on = on, .base = 1000000 * i, .tolerant = tolerant};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run, &callers[i]), 0);
    }
}

static unsigned end(struct caller *callers)
{
    unsigned answered = 0;

    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].wrong, 0);
        assert_int_equal(callers[i].answered + callers[i].refused, CALLS);
        answered += callers[i].answered;
    }
    return answered;
}

static void threads_call_while_the_owner_sleeps(void **state)
{
    struct caller callers[THREADS];
    struct hosting on;

    (void)state;
    open_calc(&on);
    begin(callers, &on, false);
    assert_int_equal(end(callers), THREADS * CALLS);
    close_host(&on);
}

static void threads_call_while_the_owner_calls(void **state)
{
    struct caller callers[THREADS];
    struct hosting on;
    int64_t sum;

    (void)state;
    open_calc(&on);
    begin(callers, &on, false);
    for (int64_t i = 0; i < CALLS; i++) {
        assert_done(add(&on, i, 1, &sum));
        assert_int_equal(sum, i + 1);
    }
    assert_int_equal(end(callers), THREADS * CALLS);
    close_host(&on);
}

static void threads_call_a_host_with_a_thread_of_its_own(void **state)
{
    struct caller callers[THREADS];
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&on, CALC, here, NULL));
    begin(callers, &on, false);
    assert_int_equal(end(callers), THREADS * CALLS);
    close_host(&on);
}

/* Every call ends, once, whatever happens to the guest. */
static void threads_call_a_guest_that_dies_again_and_again(void **state)
{
    const struct rapahub_supervision stubborn = {
        .restarts_max = 200, .backoff_initial_ns = 1000000, .backoff_max_ns = 2000000};
    struct caller callers[THREADS];
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&on, CALC, here, &stubborn));
    begin(callers, &on, true);
    for (int i = 0; i < 20; i++) {
        int32_t pid = 0;

        if (ask(&on, "pid() -> i32", NULL, &pid) == 0)
            kill(pid, SIGKILL);
        pause_ms(5);
    }
    assert_true(end(callers) > 0);
    close_host(&on);
}

/* The death is seen by who waits, though the owner does not dispatch. */
static void *crash(void *user)
{
    struct caller *caller = user;

    caller->refused = ask(caller->on, "crash()", NULL, NULL) == RAPAHUB_EDIED &&
                      strstr(rapahub_last_error()->text, "signal SIGSEGV");
    return NULL;
}

static void a_death_is_seen_without_the_owner(void **state)
{
    struct caller caller = {0};
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_calc(&on);
    caller.on = &on;
    begun = now_ms();
    assert_int_equal(pthread_create(&caller.thread, NULL, crash, &caller), 0);
    pthread_join(caller.thread, NULL);
    assert_int_equal(caller.refused, 1);
    assert_in_range(now_ms() - begun, 0, 5000);
    close_host(&on);
}

static void *spawn_elsewhere(void *user)
{
    const struct rapahub_guest_options options = {.chimod = CALC};
    struct caller *caller = user;
    struct rapahub_guest_id guest;

    caller->refused = rapahub_host_spawn(caller->on->host, &options, &guest) == RAPAHUB_ESTATE &&
                      rapahub_host_dispatch(caller->on->host, 0) == RAPAHUB_ESTATE;
    return NULL;
}

static void only_the_owner_starts_guests(void **state)
{
    struct caller caller = {0};
    struct hosting on;

    (void)state;
    open_calc(&on);
    caller.on = &on;
    assert_int_equal(pthread_create(&caller.thread, NULL, spawn_elsewhere, &caller), 0);
    pthread_join(caller.thread, NULL);
    assert_int_equal(caller.refused, 1);
    close_host(&on);
}

static int offer_twice(void *self, int64_t number, int64_t *result)
{
    *(pthread_t *)self = pthread_self();
    *result = 2 * number;
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(twice, offer_twice, i64, i64),
    RAPAHUB_METHOD_END,
};

static void an_offer_runs_on_the_thread_that_owns_the_host(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "offer"};
    const int64_t number = 21;
    pthread_t ran_on = pthread_self();
    struct hosting on;
    int64_t result = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_offer(on.host, &options, methods, &ran_on));
    assert_done(ask(&on, "twice(i64) -> i64", (const void *const[]){&number, NULL}, &result));
    assert_int_equal(result, 42);
    assert_false(pthread_equal(ran_on, pthread_self()));
    close_host(&on);
}

static int offer_nap(void *self, uint32_t ms)
{
    (void)self;
    pause_ms((int)ms);
    return 0;
}

static const struct rapahub_method slow_methods[] = {
    RAPAHUB_METHOD(doze, offer_nap, void, u32),
    RAPAHUB_METHOD_END,
};

/* An offer that has begun cannot be left; a thread that waits for its end beyond the deadline
 * sleeps. */
static void who_waits_for_an_offer_sleeps(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "offer"};
    const uint32_t ms = 1500;
    const struct rapahub_call call = {.target = here,
                                      .method = "doze(u32) -> void",
                                      .arguments = (const void *const[]){&ms, NULL},
                                      .timeout_ns = 300000000};
    struct timespec before, after;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_offer(on.host, &options, slow_methods, NULL));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    assert_done(rapahub_host_call(on.host, &call, NULL));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    assert_in_range(
        (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000, 0, 300);
    close_host(&on);
}

static int offer_destroy(void *self)
{
    rapahub_host_destroy(((struct hosting *)self)->host);
    return 0;
}

static const struct rapahub_method rash_methods[] = {
    RAPAHUB_METHOD(rash, offer_destroy, void, void),
    RAPAHUB_METHOD_END,
};

static void a_callback_cannot_destroy_a_host_with_a_thread(void **state)
{
    const struct rapahub_container_options options = {.id = {.pool = {7, 0}}, .pool_name = "offer"};
    const struct rapahub_call call = {.target = {.pool = {7, 0}}, .method = "rash() -> void"};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_offer(on.host, &options, rash_methods, &on));
    assert_done(rapahub_host_call(on.host, &call, NULL));
    assert_done(start(&on, CALC, here, NULL)); /* its thread still serves */
    assert_done(add(&on, 1, 2, &sum));
    close_host(&on);
}

struct starter {
    struct hosting *on;
    const char *chimod;
    pthread_t thread;
    int code;
};

static void *start_one(void *user)
{
    static const struct rapahub_supervision hasty = {.restart = RAPAHUB_RESTART_TEMPORARY,
                                                     .start_timeout_ns = 6000000000};
    struct starter *starter = user;
    const struct rapahub_guest_options options = {.chimod = starter->chimod, .supervision = &hasty};
    struct rapahub_guest_id guest;

    starter->code = rapahub_host_spawn(starter->on->host, &options, &guest);
    return NULL;
}

/* A hanging start delays no other; a failed one is reported at once. */
static void starts_of_several_threads_are_under_way_together(void **state)
{
    struct hosting on;
    struct starter stuck = {.on = &on, .chimod = MODULE("constructor_loop")};
    struct starter failing = {.on = &on, .chimod = MODULE("constructor_crash")};
    uint64_t begun;
    int64_t sum;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true, .heartbeat_ns = UINT64_MAX});
    begun = now_ms();
    assert_int_equal(pthread_create(&stuck.thread, NULL, start_one, &stuck), 0);
    pause_ms(100);
    assert_done(start(&on, CALC, here, NULL));
    assert_done(add(&on, 1, 2, &sum));
    (void)start_one(&failing);
    assert_true(failing.code < 0);
    failing.chimod = MODULE("is_not_there");
    (void)start_one(&failing);
    assert_true(failing.code < 0);
    assert_in_range(now_ms() - begun, 0, 5000);
    pthread_join(stuck.thread, NULL);
    assert_int_equal(stuck.code, RAPAHUB_ESTART);
    close_host(&on);
}

/* It is over before a turn was taken. */
static void a_start_that_fails_at_once_is_told_at_once(void **state)
{
    struct hosting on;
    struct starter failing = {.on = &on, .chimod = CALC};
    uint64_t begun;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true,
                                                 .heartbeat_ns = UINT64_MAX,
                                                 .guest_program = "/is/not/there"});
    begun = now_ms();
    (void)start_one(&failing);
    assert_int_equal(failing.code, -ENOENT);
    assert_in_range(now_ms() - begun, 0, 5000);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_call_while_the_owner_sleeps),
        cmocka_unit_test(threads_call_while_the_owner_calls),
        cmocka_unit_test(threads_call_a_host_with_a_thread_of_its_own),
        cmocka_unit_test(threads_call_a_guest_that_dies_again_and_again),
        cmocka_unit_test(a_death_is_seen_without_the_owner),
        cmocka_unit_test(only_the_owner_starts_guests),
        cmocka_unit_test(starts_of_several_threads_are_under_way_together),
        cmocka_unit_test(a_start_that_fails_at_once_is_told_at_once),
        cmocka_unit_test(an_offer_runs_on_the_thread_that_owns_the_host),
        cmocka_unit_test(who_waits_for_an_offer_sleeps),
        cmocka_unit_test(a_callback_cannot_destroy_a_host_with_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
