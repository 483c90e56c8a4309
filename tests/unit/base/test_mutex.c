/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "hub/base/mutex.h"
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

static void *try_it(void *user)
{
    struct guarded *guarded = user;
    int r = pthread_mutex_trylock(&guarded->mutex.raw);

    if (r == 0)
        pthread_mutex_unlock(&guarded->mutex.raw);
    guarded->count = (unsigned)r;
    return NULL;
}

static void a_locked_mutex_cannot_be_had_by_another_thread(void **state)
{
    struct guarded guarded = {.count = 0};
    pthread_t other;

    (void)state;
    hub_mutex_init(&guarded.mutex);
    hub_mutex_lock(&guarded.mutex);
    assert_int_equal(pthread_create(&other, NULL, try_it, &guarded), 0);
    pthread_join(other, NULL);
    assert_int_equal(guarded.count, EBUSY);
    hub_mutex_unlock(&guarded.mutex);
    assert_int_equal(pthread_create(&other, NULL, try_it, &guarded), 0);
    pthread_join(other, NULL);
    assert_int_equal(guarded.count, 0);
    hub_mutex_fini(&guarded.mutex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_mutex_guards_is_changed_by_one_thread_at_a_time),
        cmocka_unit_test(a_locked_mutex_cannot_be_had_by_another_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
