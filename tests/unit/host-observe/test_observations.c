/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "host/observe/observations.h"
#include "tests/support/testing.h"

static void put(struct host_observations *ring, uint64_t incarnation)
{
    host_observations_put(ring, &(struct rapahub_observation){.change = RAPAHUB_CHANGE_EXIT,
                                                              .incarnation = incarnation});
}

static void events_come_in_order(void **state)
{
    struct rapahub_observation list[8];
    struct host_observations ring;

    (void)state;
    assert_int_equal(host_observations_init(&ring, 4), 0);
    assert_int_equal(host_observations_take(&ring, list, 8), 0);
    for (uint64_t i = 1; i < 1000; i += 3) {
        for (uint64_t j = i; j < i + 3; j++)
            put(&ring, j);
        assert_int_equal(host_observations_take(&ring, list, 2), 2);
        assert_int_equal(host_observations_take(&ring, list + 2, 2), 1);
        for (uint64_t j = 0; j < 3; j++) {
            assert_int_equal(list[j].sequence, i + j);
            assert_int_equal(list[j].incarnation, i + j);
            assert_false(list[j].overflow);
            assert_int_equal(list[j].dropped, 0);
        }
    }
    host_observations_fini(&ring);
}

/* r[verify supervise.observer.overflow] */
static void what_is_dropped_is_known_at_once(void **state)
{
    struct rapahub_observation list[8];
    struct host_observations ring;

    (void)state;
    assert_int_equal(host_observations_init(&ring, 4), 0);
    for (uint64_t i = 1; i <= 10; i++)
        put(&ring, i);
    assert_int_equal(host_observations_take(&ring, list, 8), 5);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(list[i].sequence, i + 1);
        assert_false(list[i].overflow);
    }
    assert_int_equal(list[4].change, RAPAHUB_CHANGE_LOST);
    assert_int_equal(list[4].sequence, 10);
    assert_int_equal(list[4].dropped, 6);
    assert_true(list[4].overflow);
    assert_int_equal(host_observations_take(&ring, list, 8), 0);
    put(&ring, 11);
    assert_int_equal(host_observations_take(&ring, list, 8), 1);
    assert_int_equal(list[0].incarnation, 11);
    assert_false(list[0].overflow);
    assert_int_equal(list[0].dropped, 6);
    host_observations_fini(&ring);
}

/* Its reader was full before it came to the end. r[verify supervise.observer.overflow] */
static void the_next_one_behind_a_gap_says_so(void **state)
{
    struct rapahub_observation list[8];
    struct host_observations ring;

    (void)state;
    assert_int_equal(host_observations_init(&ring, 4), 0);
    for (uint64_t i = 1; i <= 6; i++)
        put(&ring, i);
    assert_int_equal(host_observations_take(&ring, list, 4), 4);
    put(&ring, 7);
    assert_int_equal(host_observations_take(&ring, list, 4), 1);
    assert_int_equal(list[0].sequence, 7);
    assert_int_equal(list[0].incarnation, 7);
    assert_true(list[0].overflow);
    assert_int_equal(list[0].dropped, 2);
    host_observations_fini(&ring);
}

#define PUT 200000

static void *put_many(void *user)
{
    for (uint64_t i = 1; i <= PUT; i++)
        put(user, i);
    return NULL;
}

/* Each is seen once or counted once, whatever the two threads do. */
static void two_threads_agree(void **state)
{
    struct rapahub_observation list[8];
    struct host_observations ring;
    uint64_t seen = 0, last = 0, dropped = 0;
    pthread_t writer;

    (void)state;
    assert_int_equal(host_observations_init(&ring, 16), 0);
    assert_int_equal(pthread_create(&writer, NULL, put_many, &ring), 0);
    while (last < PUT) {
        size_t count = host_observations_take(&ring, list, 8);

        for (size_t i = 0; i < count; i++) {
            assert_true(list[i].sequence > last);
            assert_int_equal(list[i].overflow,
                             list[i].sequence != last + 1 || list[i].change == RAPAHUB_CHANGE_LOST);
            if (list[i].change != RAPAHUB_CHANGE_LOST) {
                assert_int_equal(list[i].incarnation, list[i].sequence);
                seen++;
            }
            last = list[i].sequence;
            dropped = list[i].dropped;
        }
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(last, PUT);
    assert_int_equal(seen + dropped, PUT);
    host_observations_fini(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(what_is_dropped_is_known_at_once),
        cmocka_unit_test(the_next_one_behind_a_gap_says_so),
        cmocka_unit_test(two_threads_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
