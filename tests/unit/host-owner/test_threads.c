/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>

#include <rapahub/error.h>

#include "host/owner/ownership.h"
#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "tests/unit/host-owner/bare.h"

/* The linker puts it before the sleep of a thread that waits for its job: the owner begins with the
 * job only now, and the thread wakes once it has. */
int __real_hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns);
int __wrap_hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns);

static bool stepwise;
static sem_t asleep, begun, go_on;

int __wrap_hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns)
{
    if (!stepwise)
        return __real_hub_futex_wait_private(word, value, deadline_ns);
    if (deadline_ns == 1) {
        sem_post(&asleep);
        sem_wait(&begun);
        return -ETIMEDOUT;
    }
    stepwise = false;
    sem_post(&go_on);
    return __real_hub_futex_wait_private(word, value, deadline_ns);
}

/* What a thread asks for, and what came of it. */
struct work {
    struct host_owner *host;
    int (*ask)(struct work *work);
    uint64_t deadline_ns;
    const struct host_threads_task *task;
    unsigned begun, ended; /* owner */
    bool over, fails, on_owner;
    int code; /* the rest is the thread's */
    char text[64], rule[32];
    pthread_t thread;
};

static int job(struct host_owner *host, void *argument)
{
    struct work *work = argument;

    assert_ptr_equal(host, work->host);
    work->begun++;
    work->on_owner = host_ownership_is_owner(host);
    return work->fails ? rapahub_fail(RAPAHUB_EFULL, "shm.slot.free", "no %s", "room") : 4;
}

static int begin_task(struct host_owner *host, void *argument)
{
    int r = job(host, argument);

    return r < 0 ? r : 0;
}

static bool is_over(const void *argument)
{
    return ((const struct work *)argument)->over;
}

static int end_task(struct host_owner *host, void *argument)
{
    struct work *work = argument;

    (void)host;
    work->ended++;
    return 9;
}

static const struct host_threads_task task = {begin_task, is_over, end_task};

static int run(struct work *work)
{
    return host_threads_run(work->host, job, work);
}

static int look(struct work *work)
{
    return host_threads_look(work->host, job, work);
}

static int ask(struct work *work)
{
    return host_threads_ask(work->host, job, work, work->deadline_ns);
}

static int await(struct work *work)
{
    return host_threads_await(work->host, &task, work);
}

static void *run_thread(void *user)
{
    struct work *work = user;

    work->code = work->ask(work);
    if (work->code < 0) {
        snprintf(work->text, sizeof work->text, "%s", rapahub_last_error()->text);
        snprintf(work->rule, sizeof work->rule, "%s", rapahub_last_error()->rule);
    }
    return NULL;
}

static void begin_on_thread(struct work *work)
{
    assert_int_equal(pthread_create(&work->thread, NULL, run_thread, work), 0);
}

static void join(struct work *work)
{
    assert_int_equal(pthread_join(work->thread, NULL), 0);
}

/* Until a thread has posted something: that rings the bell. */
static void await_post(struct host_owner *host)
{
    assert_true(host_loop_turn(&host->loop, -1) >= 0);
}

static void the_owner_does_its_own_work_at_once(void **state)
{
    static int (*const ways[])(struct work *) = {run, look, ask};
    struct host_owner host;

    (void)state;
    bare_open(&host);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct work work = {.host = &host, .deadline_ns = 1};

        assert_int_equal(ways[i](&work), 4);
        assert_int_equal(work.begun, 1);
        work.fails = true;
        assert_int_equal(ways[i](&work), RAPAHUB_EFULL);
        assert_string_equal(rapahub_last_error()->text, "no room");
    }
    bare_close(&host);
}

static void in_a_callback_the_owner_may_look_and_ask_and_no_more(void **state)
{
    struct host_owner host;
    struct work work = {.host = &host};

    (void)state;
    bare_open(&host);
    host.callbacks = 1;
    assert_int_equal(run(&work), RAPAHUB_ESTATE);
    assert_int_equal(await(&work), RAPAHUB_ESTATE);
    assert_int_equal(work.begun, 0);
    assert_int_equal(look(&work), 4);
    assert_int_equal(ask(&work), 4);
    bare_close(&host);
}

static void without_a_thread_of_the_library_another_thread_is_refused(void **state)
{
    static int (*const ways[])(struct work *) = {run, look, await};
    struct host_owner host;

    (void)state;
    bare_open(&host);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct work work = {.host = &host, .ask = ways[i]};

        begin_on_thread(&work);
        join(&work);
        assert_int_equal(work.code, RAPAHUB_ESTATE);
        assert_int_equal(work.begun, 0);
        assert_int_equal(host_threads_serve(&host, true), 0);
    }
    bare_close(&host);
}

/* r[verify hub.host.fork] */
static void a_forked_child_waits_for_nobody(void **state)
{
    struct host_owner host;
    struct work first = {.host = &host, .ask = run}, second = {.host = &host, .ask = await};
    struct work third = {.host = &host};

    (void)state;
    bare_open(&host);
    host.threads.own = true;
    host.registry.callers.number = 0;
    begin_on_thread(&first);
    join(&first);
    begin_on_thread(&second);
    join(&second);
    assert_int_equal(first.code, RAPAHUB_ESTATE);
    assert_int_equal(second.code, RAPAHUB_ESTATE);
    assert_string_equal(second.rule, "hub.host.fork");
    assert_int_equal(look(&third), RAPAHUB_ESTATE);
    assert_int_equal(first.begun + second.begun + third.begun, 0);
    bare_close(&host);
}

static void a_thread_of_the_library_owns_the_host_until_it_stops(void **state)
{
    static int (*const ways[])(struct work *) = {run, look, ask, await};
    struct host_owner host;

    (void)state;
    bare_open(&host);
    host_threads_stop(&host); /* there is none */
    assert_true(host_ownership_is_owner(&host));
    assert_int_equal(host_threads_start(&host), 0);
    assert_true(host.threads.own);
    assert_false(host_ownership_is_owner(&host));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct work work = {.host = &host, .deadline_ns = HUB_NEVER, .over = true};

        assert_int_equal(ways[i](&work), ways[i] == await ? 9 : 4);
        assert_true(work.begun == 1 && work.on_owner);
        work.fails = true;
        rapahub_clear_error();
        assert_int_equal(ways[i](&work), RAPAHUB_EFULL);
        assert_string_equal(rapahub_last_error()->text, "no room");
        assert_string_equal(rapahub_last_error()->rule, "shm.slot.free");
    }
    host_threads_stop(&host);
    assert_false(host.threads.own);
    assert_true(host_ownership_is_owner(&host));
    bare_close(&host);
}

static void only_a_job_that_may_runs_inside_of_a_turn(void **state)
{
    struct host_owner host;
    struct work changes = {.host = &host, .ask = run};
    struct work asks = {.host = &host, .ask = ask, .deadline_ns = HUB_NEVER};

    (void)state;
    bare_open(&host);
    host.threads.own = true;
    begin_on_thread(&changes);
    await_post(&host);
    assert_int_equal(host_threads_serve(&host, false), 0);
    begin_on_thread(&asks);
    await_post(&host);
    assert_int_equal(host_threads_serve(&host, false), 1);
    join(&asks);
    assert_int_equal(asks.code, 4);
    assert_int_equal(changes.begun, 0);
    assert_int_equal(host_threads_serve(&host, true), 1);
    join(&changes);
    assert_int_equal(changes.code, 4);
    bare_close(&host);
}

static void a_job_that_has_not_begun_in_time_never_begins(void **state)
{
    struct host_owner host;
    struct work work = {.host = &host, .ask = ask, .deadline_ns = 1};

    (void)state;
    bare_open(&host);
    begin_on_thread(&work);
    join(&work);
    assert_int_equal(work.code, RAPAHUB_ETIMEDOUT);
    assert_string_equal(work.text, "the owner of the host did not dispatch");
    assert_int_equal(host_threads_serve(&host, true), 0);
    assert_int_equal(work.begun, 0);
    bare_close(&host);
}

static int job_that_outlasts_its_deadline(struct host_owner *host, void *argument)
{
    sem_post(&begun);
    sem_wait(&go_on);
    return job(host, argument);
}

static int ask_for_that(struct work *work)
{
    return host_threads_ask(work->host, job_that_outlasts_its_deadline, work, work->deadline_ns);
}

/* It uses the stack of the thread that waits. */
static void a_job_that_has_begun_is_waited_for(void **state)
{
    struct host_owner host;
    struct work work = {.host = &host, .ask = ask_for_that, .deadline_ns = 1};

    (void)state;
    bare_open(&host);
    sem_init(&asleep, 0, 0);
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    stepwise = true;
    begin_on_thread(&work);
    sem_wait(&asleep);
    assert_int_equal(host_threads_serve(&host, false), 1);
    join(&work);
    assert_int_equal(work.code, 4);
    assert_int_equal(work.begun, 1);
    sem_destroy(&go_on);
    sem_destroy(&begun);
    sem_destroy(&asleep);
    bare_close(&host);
}

static void tasks_of_several_threads_are_under_way_at_once(void **state)
{
    struct host_owner host;
    struct work first = {.host = &host, .ask = await}, second = first, third = first;

    (void)state;
    third.fails = true;
    bare_open(&host);
    host.threads.own = true;
    begin_on_thread(&first);
    await_post(&host);
    begin_on_thread(&second);
    await_post(&host);
    begin_on_thread(&third);
    await_post(&host);
    assert_int_equal(host_threads_serve(&host, false), 0);
    assert_int_equal(host_threads_serve(&host, true), 3);
    assert_true(first.begun == 1 && second.begun == 1);
    join(&third);
    assert_int_equal(third.code, RAPAHUB_EFULL);
    assert_int_equal(third.ended, 0);
    assert_int_equal(host_threads_serve(&host, true), 0);
    second.over = true;
    assert_int_equal(host_threads_serve(&host, false), 0);
    assert_int_equal(host_threads_serve(&host, true), 1);
    join(&second);
    assert_int_equal(second.code, 9);
    assert_int_equal(first.ended, 0);
    first.over = true;
    assert_int_equal(host_threads_serve(&host, true), 1);
    join(&first);
    assert_int_equal(first.code, 9);
    bare_close(&host);
}

static void a_task_that_is_over_at_once_ends_with_its_begin(void **state)
{
    struct host_owner host;
    struct work work = {.host = &host, .ask = await, .over = true};

    (void)state;
    bare_open(&host);
    host.threads.own = true;
    begin_on_thread(&work);
    await_post(&host);
    assert_int_equal(host_threads_serve(&host, true), 2);
    join(&work);
    assert_int_equal(work.code, 9);
    bare_close(&host);
}

static struct work *under_way;
static int turns_left, turn_result;

static int turn_that_ends(struct host_owner *host, int timeout_ms)
{
    (void)host;
    assert_true(timeout_ms > 0);
    under_way->over = --turns_left == 0;
    return turn_result;
}

static void the_owner_takes_turns_until_its_task_is_over(void **state)
{
    static const struct host_turns turns = {turn_that_ends, NULL};
    struct host_owner host;
    struct work work = {.host = &host};

    (void)state;
    bare_open(&host);
    host.turns = &turns;
    under_way = &work;
    turns_left = 3;
    turn_result = 0;
    assert_int_equal(await(&work), 9);
    assert_int_equal(turns_left, 0);
    assert_true(work.begun == 1 && work.ended == 1);
    work.fails = true;
    assert_int_equal(await(&work), RAPAHUB_EFULL);
    assert_int_equal(work.ended, 1);
    bare_close(&host);
}

/* It ends all the same, and the failure of the turn counts. */
static void a_turn_that_fails_ends_the_wait_of_the_owner(void **state)
{
    static const struct host_turns turns = {turn_that_ends, NULL};
    struct host_owner host;
    struct work work = {.host = &host};

    (void)state;
    bare_open(&host);
    host.turns = &turns;
    under_way = &work;
    turns_left = 3;
    turn_result = RAPAHUB_EINVAL;
    assert_int_equal(await(&work), RAPAHUB_EINVAL);
    assert_int_equal(turns_left, 2);
    assert_int_equal(work.ended, 1);
    bare_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_does_its_own_work_at_once),
        cmocka_unit_test(in_a_callback_the_owner_may_look_and_ask_and_no_more),
        cmocka_unit_test(without_a_thread_of_the_library_another_thread_is_refused),
        cmocka_unit_test(a_forked_child_waits_for_nobody),
        cmocka_unit_test(a_thread_of_the_library_owns_the_host_until_it_stops),
        cmocka_unit_test(only_a_job_that_may_runs_inside_of_a_turn),
        cmocka_unit_test(a_job_that_has_not_begun_in_time_never_begins),
        cmocka_unit_test(a_job_that_has_begun_is_waited_for),
        cmocka_unit_test(tasks_of_several_threads_are_under_way_at_once),
        cmocka_unit_test(a_task_that_is_over_at_once_ends_with_its_begin),
        cmocka_unit_test(the_owner_takes_turns_until_its_task_is_over),
        cmocka_unit_test(a_turn_that_fails_ends_the_wait_of_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
