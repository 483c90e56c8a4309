/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "host/registry/routes.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

static void who_locks_to_change_counts_the_version_on(void **state)
{
    struct host_routes routes;

    (void)state;
    host_routes_init(&routes);
    assert_int_equal(hub_observe(&routes.version), 1);
    host_routes_write(&routes);
    assert_int_equal(hub_observe(&routes.version), 2); /* before anything changes */
    host_routes_unlock(&routes);
    host_routes_read(&routes);
    assert_int_equal(hub_observe(&routes.version), 2);
    host_routes_unlock(&routes);
    host_routes_fini(&routes);
}

static void a_version_is_never_0(void **state)
{
    struct host_routes routes;

    (void)state;
    host_routes_init(&routes);
    hub_store_relaxed(&routes.version, UINT32_MAX);
    host_routes_write(&routes);
    assert_int_equal(hub_observe(&routes.version), 1);
    host_routes_unlock(&routes);
    host_routes_fini(&routes);
}

static void readers_share_the_lock_and_a_writer_does_not(void **state)
{
    struct host_routes routes;

    (void)state;
    host_routes_init(&routes);
    host_routes_read(&routes);
    assert_int_equal(pthread_rwlock_tryrdlock(&routes.lock), 0);
    assert_int_not_equal(pthread_rwlock_trywrlock(&routes.lock), 0);
    assert_int_equal(pthread_rwlock_unlock(&routes.lock), 0);
    host_routes_unlock(&routes);
    host_routes_write(&routes);
    assert_int_not_equal(pthread_rwlock_tryrdlock(&routes.lock), 0);
    host_routes_unlock(&routes);
    host_routes_fini(&routes);
}

struct waiter {
    struct host_routes routes;
    uint32_t seen;
};

static void *wait_long(void *argument)
{
    struct waiter *waiter = argument;
    uint64_t end = hub_clock_after(60 * HUB_SECOND);

    while (hub_observe(&waiter->routes.changes) == waiter->seen && hub_clock_left(end) > 0)
        host_routes_wait(&waiter->routes, waiter->seen, end);
    return NULL;
}

static void an_announcement_wakes_all_that_wait(void **state)
{
    uint64_t begun = hub_clock_now();
    pthread_t threads[3];
    struct waiter waiter;

    (void)state;
    host_routes_init(&waiter.routes);
    waiter.seen = hub_observe(&waiter.routes.changes);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_long, &waiter), 0);
    /* nothing is announced meanwhile, and most of them sleep by then */
    host_routes_wait(&waiter.routes, waiter.seen, hub_clock_after(20 * HUB_MILLISECOND));
    host_routes_announce(&waiter.routes);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(hub_clock_now() - begun < 30 * HUB_SECOND);
    host_routes_fini(&waiter.routes);
}

static void who_has_missed_an_announcement_does_not_wait(void **state)
{
    uint64_t begun = hub_clock_now();
    struct host_routes routes;

    (void)state;
    host_routes_init(&routes);
    host_routes_announce(&routes);
    host_routes_wait(&routes, 0, hub_clock_after(60 * HUB_SECOND));
    assert_true(hub_clock_now() - begun < 30 * HUB_SECOND);
    host_routes_wait(&routes, 1, hub_clock_after(HUB_MILLISECOND)); /* ends with its deadline */
    assert_true(hub_clock_now() - begun < 30 * HUB_SECOND);
    host_routes_fini(&routes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_locks_to_change_counts_the_version_on),
        cmocka_unit_test(a_version_is_never_0),
        cmocka_unit_test(readers_share_the_lock_and_a_writer_does_not),
        cmocka_unit_test(an_announcement_wakes_all_that_wait),
        cmocka_unit_test(who_has_missed_an_announcement_does_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
