/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/mutex.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define TURNS 10000

struct guarded {
    struct hub_mutex mutex;
    unsigned count GUARDED_BY(mutex);
};

static void *count_up(void *user)
{
    struct guarded *guarded = user;

    for (int i = 0; i < TURNS; i++) {
        hub_mutex_lock(&guarded->mutex);
        guarded->count++;
        hub_mutex_unlock(&guarded->mutex);
    }
    return NULL;
}

static void what_a_mutex_guards_is_changed_by_one_thread_at_a_time(void **state)
{
    struct guarded guarded = {.count = 0};
    pthread_t threads[4];

    (void)state;
    hub_mutex_init(&guarded.mutex);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &guarded), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(guarded.count, 4 * TURNS);
    hub_mutex_fini(&guarded.mutex);
}

struct contest {
    struct guarded guarded;
    struct hub_a32 begun, got;
};

static void *lock_it(void *user)
{
    struct contest *contest = user;

    hub_add(&contest->begun, 1);
    hub_mutex_lock(&contest->guarded.mutex);
    contest->guarded.count++;
    hub_mutex_unlock(&contest->guarded.mutex);
    hub_add(&contest->got, 1);
    return NULL;
}

/* All of those that wait come in, one after the other: each unlock wakes the next. */
static void who_waits_for_a_mutex_gets_it_when_it_is_free(void **state)
{
    struct contest contest = {.guarded = {.count = 0}};
    pthread_t threads[3];

    (void)state;
    hub_mutex_init(&contest.guarded.mutex);
    hub_mutex_lock(&contest.guarded.mutex);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lock_it, &contest), 0);
    while (hub_observe(&contest.begun) < 3)
        sched_yield();
    pause_ms(20); /* now they sleep */
    assert_int_equal(hub_observe(&contest.got), 0);
    hub_mutex_unlock(&contest.guarded.mutex);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(contest.guarded.count, 3);
    hub_mutex_lock(&contest.guarded.mutex);
    hub_mutex_unlock(&contest.guarded.mutex);
    hub_mutex_fini(&contest.guarded.mutex);
}

UNCHECKED static void give_back(bool settles)
{
    struct hub_mutex mutex;
    struct hub_a32 word;

    hub_mutex_init(&mutex);
    hub_note(&word, 0);
    if (settles)
        hub_mutex_unlock_and_settle(&mutex, &word);
    else
        hub_mutex_unlock(&mutex);
}

/* So a lock that is forgotten is seen by each test that comes by, without two threads that meet. */
static void who_gives_back_what_he_did_not_take_ends(void **state)
{
    const struct rlimit no_core = {0, 0};

    (void)state;
    for (int settles = 0; settles < 2; settles++) {
        int status = 0;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            (void)setrlimit(RLIMIT_CORE, &no_core);
            close(STDERR_FILENO);
            signal(SIGABRT, SIG_DFL); /* cmocka's handler would jump back into the test */
            give_back(settles);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_mutex_guards_is_changed_by_one_thread_at_a_time),
        cmocka_unit_test(who_waits_for_a_mutex_gets_it_when_it_is_free),
        cmocka_unit_test(who_gives_back_what_he_did_not_take_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
