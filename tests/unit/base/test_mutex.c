/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
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
    hub_mutex_init(&guarded.mutex, HUB_MUTEX_LINK);
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
    hub_mutex_init(&contest.guarded.mutex, HUB_MUTEX_LINK);
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

    hub_mutex_init(&mutex, HUB_MUTEX_LINK);
    hub_store_relaxed(&word, 0);
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

#ifdef HUB_MUTEX_RANKS
UNCHECKED static void take_both(enum hub_mutex_rank first, enum hub_mutex_rank second)
{
    struct hub_mutex outer, inner;

    hub_mutex_init(&outer, first);
    hub_mutex_init(&inner, second);
    hub_mutex_lock(&outer);
    hub_mutex_lock(&inner);
    hub_mutex_unlock(&outer); /* in any order */
    hub_mutex_unlock(&inner);
}

/* The wait status of a process that takes two locks, and what it prints on standard error. */
static int status_of_both(enum hub_mutex_rank first, enum hub_mutex_rank second, char *said,
                          size_t room)
{
    const struct rlimit no_core = {0, 0};
    int ends[2], status = 0;
    size_t size = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        take_both(first, second);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n = 1; n > 0; size += (size_t)n) {
        n = read(ends[0], said + size, room - 1 - size);
        assert_true(n >= 0);
    }
    said[size] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void two_locks_out_of_order_end_the_process_and_are_named(void **state)
{
    char said[256];
    int status;

    (void)state;
    assert_int_equal(status_of_both(HUB_MUTEX_ROUTES, HUB_MUTEX_LINK, said, sizeof said), 0);
    assert_string_equal(said, "");
    status = status_of_both(HUB_MUTEX_LINK, HUB_MUTEX_ROUTES, said, sizeof said);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "'routes of a host' is taken by a thread that holds 'link'"));
    status = status_of_both(HUB_MUTEX_LINK, HUB_MUTEX_LINK, said, sizeof said);
    assert_true(WIFSIGNALED(status));
    assert_non_null(strstr(said, "'link' is taken by a thread that holds 'link'"));
    status = status_of_both(HUB_MUTEX_LINK, HUB_MUTEX_UNRANKED, said, sizeof said);
    assert_true(WIFSIGNALED(status));
    assert_non_null(strstr(said, "a lock without a rank"));
}
#else
static void two_locks_out_of_order_end_the_process_and_are_named(void **state)
{
    (void)state;
    skip(); /* locks have ranks in debug and sanitizer builds */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_mutex_guards_is_changed_by_one_thread_at_a_time),
        cmocka_unit_test(who_waits_for_a_mutex_gets_it_when_it_is_free),
        cmocka_unit_test(who_gives_back_what_he_did_not_take_ends),
        cmocka_unit_test(two_locks_out_of_order_end_the_process_and_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
