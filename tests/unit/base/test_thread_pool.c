/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/base/thread_pool.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define MANY 12 /* at once; more than are kept */

struct piece {
    struct hub_a32 begun, may_end, done;
    pid_t thread;
    bool blocks; /* signals */
};

static void await(struct hub_a32 *word)
{
    while (hub_observe(word) == 0)
        hub_futex_wait_private(word, 0, hub_clock_after(HUB_SECOND));
}

static void tell(struct hub_a32 *word)
{
    hub_publish(word, 1);
    hub_futex_wake_private(word);
}

static void do_piece(void *user)
{
    struct piece *piece = user;
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    piece->thread = gettid();
    piece->blocks = sigismember(&mask, SIGTERM) == 1;
    tell(&piece->begun);
    await(&piece->may_end);
    tell(&piece->done);
}

static uint32_t threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    uint32_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void await_threads(uint32_t count)
{
    uint64_t end = hub_clock_after(20 * HUB_SECOND);

    while (threads() != count && hub_clock_left(end) > 0)
        pause_ms(1);
    assert_int_equal(threads(), count);
}

static void *nothing(void *user)
{
    return user;
}

/* Counts the permanent threads: a sanitizer starts one of its own together with the first one. */
static uint32_t own_threads(void)
{
    uint32_t least = UINT32_MAX;
    pthread_t first;

    assert_int_equal(pthread_create(&first, NULL, nothing, NULL), 0);
    assert_int_equal(pthread_join(first, NULL), 0);
    for (unsigned i = 0; i < 20; i++) {
        uint32_t count = threads();

        least = count < least ? count : least;
        pause_ms(1);
    }
    return least;
}

/* A thread is idle a little after it has told its end. */
static void one_thread_does_what_comes_one_by_one(void **state)
{
    struct hub_thread_pool pool;
    uint32_t before = own_threads(), same = 0;
    pid_t last = 0;

    (void)state;
    hub_thread_pool_init(&pool);
    for (unsigned i = 0; i < 100; i++) {
        struct piece piece = {0};

        hub_store_relaxed(&piece.may_end, 1);
        assert_int_equal(hub_thread_pool_run(&pool, do_piece, &piece), 0);
        await(&piece.done);
        assert_true(piece.blocks);
        same += piece.thread == last;
        last = piece.thread;
        pause_ms(1);
    }
    assert_true(same > 50);
    hub_thread_pool_fini(&pool);
    await_threads(before); /* a joined thread is listed a moment longer */
}

static void all_work_is_done_at_once_and_few_threads_are_kept(void **state)
{
    struct piece pieces[MANY] = {0};
    struct hub_thread_pool pool;
    uint32_t before = own_threads();

    (void)state;
    hub_thread_pool_init(&pool);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(hub_thread_pool_run(&pool, do_piece, &pieces[i]), 0);
    for (unsigned i = 0; i < MANY; i++)
        await(&pieces[i].begun);
    assert_int_equal(threads(), before + MANY);
    for (unsigned i = 0; i < MANY; i++)
        tell(&pieces[i].may_end);
    for (unsigned i = 0; i < MANY; i++)
        await(&pieces[i].done);
    await_threads(before + 4);
    await_threads(before); /* nothing comes for a second */
    for (unsigned i = 0; i < 2; i++) {
        struct piece again = {0};

        hub_store_relaxed(&again.may_end, 1);
        assert_int_equal(hub_thread_pool_run(&pool, do_piece, &again), 0);
        await(&again.done);
    }
    hub_thread_pool_fini(&pool);
    await_threads(before); /* a joined thread is listed a moment longer */
}

static void *end_soon(void *user)
{
    pause_ms(50);
    tell(&((struct piece *)user)->may_end);
    return NULL;
}

static void its_end_waits_for_what_is_being_done(void **state)
{
    struct hub_thread_pool pool;
    struct piece piece = {0};
    pthread_t helper;

    (void)state;
    hub_thread_pool_init(&pool);
    assert_int_equal(hub_thread_pool_run(&pool, do_piece, &piece), 0);
    await(&piece.begun);
    assert_int_equal(pthread_create(&helper, NULL, end_soon, &piece), 0);
    hub_thread_pool_fini(&pool);
    assert_int_equal(hub_observe(&piece.done), 1);
    assert_int_equal(hub_thread_pool_run(&pool, do_piece, &piece), -ECANCELED);
    assert_int_equal(pthread_join(helper, NULL), 0);
}

static void one_that_never_had_work_ends_too(void **state)
{
    struct hub_thread_pool pool;

    (void)state;
    hub_thread_pool_init(&pool);
    hub_thread_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_does_what_comes_one_by_one),
        cmocka_unit_test(all_work_is_done_at_once_and_few_threads_are_kept),
        cmocka_unit_test(its_end_waits_for_what_is_being_done),
        cmocka_unit_test(one_that_never_had_work_ends_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
