/* SPDX-License-Identifier: Apache-2.0 */
/* While an upgrade waits, its host is woken by events alone: in each of its steps, however long it
 * lasts, there are few turns, and the step goes on at once when what it waits for has come. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "tests/integration/upgrading.h"
#include "tests/support/pause.h"

#define LONG_MS   500
#define TURNS     60 /* the most in that time; one in 2 ms would be 250 */
#define SOON_MS   1000
#define CALL_MS   100 /* a call that a thread is stopped in */
#define ASLEEP_MS 50  /* it waits for its answer by then */

struct wait {
    struct hosting on;
    unsigned ended, turns;
    int code;
    uint64_t lasted_ms;
};

static void on_upgraded(void *user, int status, const struct rapahub_upgrade_result *upgraded)
{
    struct wait *wait = user;

    wait->code = status;
    wait->ended = 1;
    if (status == 0)
        wait->on.guest = upgraded->guest;
}

/* Upgrades in the turns of this thread, and counts them. */
static void upgrade_and_count(struct wait *wait, struct rapahub_upgrade_options options)
{
    uint64_t began = now_ms();

    wait->ended = wait->turns = 0;
    assert_done(
        rapahub_host_upgrade_async(wait->on.host, wait->on.guest, &options, on_upgraded, wait));
    for (; !wait->ended && now_ms() - began < 10000; wait->turns++)
        assert_true(rapahub_host_dispatch(wait->on.host, 1000) >= 0);
    wait->lasted_ms = now_ms() - began;
    assert_int_equal(wait->ended, 1);
    print_message("  %llu ms in %u turns\n", (unsigned long long)wait->lasted_ms, wait->turns);
}

static void check(const struct wait *wait, int code)
{
    assert_int_equal(wait->code, code);
    assert_true(wait->lasted_ms >= LONG_MS - 10);
    assert_true(wait->turns <= TURNS);
}

/* ---- it waits for a process ---- */

static void a_start_that_lasts(void **state)
{
    struct wait wait;

    (void)state;
    open_ledger(&wait.on);
    upgrade_and_count(&wait, (struct rapahub_upgrade_options){.chimod = MODULE("constructor_loop"),
                                                              .timeout_ns = LONG_MS * MS});
    check(&wait, RAPAHUB_ETIMEDOUT);
    assert_true(wait.lasted_ms < LONG_MS + SOON_MS);
    close_host(&wait.on);
}

static void a_load_that_lasts(void **state)
{
    struct wait wait;

    (void)state;
    open_ledger(&wait.on);
    upgrade_and_count(&wait, (struct rapahub_upgrade_options){.chimod = MODULE("ledger_load_hangs"),
                                                              .hold_ns = LONG_MS * MS});
    check(&wait, RAPAHUB_ETIMEDOUT);
    assert_int_equal(version(&wait.on), 1);
    close_host(&wait.on);
}

static void an_end_that_lasts(void **state)
{
    struct wait wait;

    (void)state;
    open_ledger(&wait.on);
    be(&wait.on, FINI_LASTS);
    upgrade_and_count(&wait, (struct rapahub_upgrade_options){.chimod = LEDGER2});
    check(&wait, 0);
    assert_int_equal(version(&wait.on), 2);
    close_host(&wait.on);
}

/* Only the module knows of its own work, so it is asked again and again, but ever more rarely. */
static void work_that_lasts(void **state)
{
    const uint64_t some = 3;
    struct wait wait;

    (void)state;
    open_ledger(&wait.on);
    assert_done(ask(&wait.on, "work_on(u64)", (const void *const[]){&some, NULL}, NULL));
    upgrade_and_count(&wait,
                      (struct rapahub_upgrade_options){.chimod = LEDGER2, .hold_ns = LONG_MS * MS});
    assert_int_equal(wait.code, RAPAHUB_ETIMEDOUT);
    assert_true(wait.turns <= 3 * TURNS);
    close_host(&wait.on);
}

/* ---- it waits for calls of other threads ---- */

struct caller {
    struct rapahub_host *host;
    pthread_t thread;
    unsigned before; /* calls that it made before */
    uint64_t id;     /* of the method, known after the first call */
    uint32_t ms;     /* of its last call */
    int code;
    sem_t begins;
};

static int enter_slowly(struct caller *caller, uint32_t ms)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_u32, &rapahub_type_u64,
                                                       &rapahub_type_u32, NULL};
    const uint64_t number = 7;
    const struct rapahub_call call = {.target = here,
                                      .method = "enter_slowly",
                                      .types = types,
                                      .method_id = &caller->id,
                                      .arguments = (const void *const[]){&number, &ms, NULL},
                                      .timeout_ns = 10000 * MS};
    uint32_t version;

    return rapahub_host_call(caller->host, &call, &version);
}

static void *run(void *user)
{
    struct caller *caller = user;

    for (unsigned i = 0; i < caller->before && caller->code == 0; i++)
        caller->code = enter_slowly(caller, 0);
    sem_post(&caller->begins);
    if (caller->code == 0)
        caller->code = enter_slowly(caller, caller->ms);
    return NULL;
}

static void begin_call(struct caller *caller, const struct wait *wait, unsigned before, uint32_t ms)
{
    *caller = (struct caller){.host = wait->on.host, .before = before, .ms = ms};
    assert_int_equal(sem_init(&caller->begins, 0, 0), 0);
    assert_int_equal(pthread_create(&caller->thread, NULL, run, caller), 0);
    while (sem_wait(&caller->begins) < 0)
        continue;
    pause_ms(ASLEEP_MS);
}

static void end_call(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    assert_int_equal(caller->code, 0);
    sem_destroy(&caller->begins);
}

/* The old process answers the host only after that call. */
static void a_call_that_lasts(void **state)
{
    struct caller caller;
    struct wait wait;

    (void)state;
    open_ledger(&wait.on);
    begin_call(&caller, &wait, 0, ASLEEP_MS + LONG_MS);
    upgrade_and_count(&wait, (struct rapahub_upgrade_options){.chimod = LEDGER2});
    end_call(&caller);
    check(&wait, 0);
    assert_int_equal(count(&wait.on, 7), 1);
    close_host(&wait.on);
}

/* The thread that is stopped so has its answer, and does not take it. */
static void on_stop(int signal)
{
    (void)signal;
    pause_ms(CALL_MS + LONG_MS);
}

/* Its calls find their way by a look-up, or by what they found before. */
static void a_thread_that_does_not_return_from_its_call(void **state)
{
    const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    struct sigaction before;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &stop, &before), 0);
    for (unsigned known = 0; known < 2; known++) {
        struct caller caller;
        struct wait wait;

        open_ledger(&wait.on);
        begin_call(&caller, &wait, known, CALL_MS);
        assert_int_equal(pthread_kill(caller.thread, SIGUSR1), 0);
        upgrade_and_count(&wait, (struct rapahub_upgrade_options){.chimod = LEDGER2});
        end_call(&caller);
        check(&wait, 0);
        assert_true(wait.lasted_ms < CALL_MS + LONG_MS + SOON_MS);
        assert_int_equal(count(&wait.on, 7), 1 + known);
        close_host(&wait.on);
    }
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_lasts),
        cmocka_unit_test(a_load_that_lasts),
        cmocka_unit_test(an_end_that_lasts),
        cmocka_unit_test(work_that_lasts),
        cmocka_unit_test(a_call_that_lasts),
        cmocka_unit_test(a_thread_that_does_not_return_from_its_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
