/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <sys/resource.h>

#include "cluster/core/base/index.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define PLACES 64
#define STEPS  20000

static unsigned times_met(const struct cluster_index *index, uint32_t hash, uint32_t place)
{
    struct cluster_index_cursor cursor;
    unsigned met = 0;

    for (uint32_t at = cluster_index_first(index, hash, &cursor); at != 0;
         at = cluster_index_next(index, &cursor))
        met += at == place;
    return met;
}

/* Few hashes, so that most of them collide, and holes are closed across the end of the slots. */
static uint32_t hash_of(uint32_t place)
{
    return place % 3 == 0 ? UINT32_MAX - place % 2 : place % 5;
}

static void each_place_is_found_by_its_hash_alone(void **state)
{
    struct hub_random random;
    struct cluster_index index;
    bool in[PLACES + 1] = {false};

    (void)state;
    hub_random_init(&random, 1);
    assert_int_equal(cluster_index_init(&index, PLACES, 7), 0);
    for (int i = 0; i < STEPS; i++) {
        uint32_t place = 1 + (uint32_t)hub_random_below(&random, PLACES);
        uint32_t asked = 1 + (uint32_t)hub_random_below(&random, PLACES);

        if (in[place])
            cluster_index_remove(&index, hash_of(place), place);
        else
            cluster_index_put(&index, hash_of(place), place);
        in[place] = !in[place];
        assert_int_equal(times_met(&index, hash_of(asked), asked), in[asked]);
        assert_int_equal(times_met(&index, hash_of(asked) + 1000, asked), 0);
    }
    cluster_index_fini(&index);
}

#define MANY 5000

/* Each place is found before and after each time that the index becomes larger. */
static void an_index_grows_with_its_places(void **state)
{
    struct cluster_index index;

    (void)state;
    assert_int_equal(cluster_index_init(&index, MANY, 7), 0);
    for (uint32_t place = 1; place <= MANY; place++) {
        uint32_t asked = 1 + place / 2;

        cluster_index_put(&index, cluster_index_hash(&index, place, 0, 0), place);
        assert_int_equal(times_met(&index, cluster_index_hash(&index, asked, 0, 0), asked), 1);
    }
    for (uint32_t place = 1; place <= MANY; place += 2)
        cluster_index_remove(&index, cluster_index_hash(&index, place, 0, 0), place);
    for (uint32_t place = 1; place <= MANY; place++)
        assert_int_equal(times_met(&index, cluster_index_hash(&index, place, 0, 0), place),
                         place % 2 == 0);
    cluster_index_fini(&index);
}

/* Each page that is touched for the first time costs a fault. */
static void few_places_of_a_large_index_touch_few_pages(void **state)
{
    struct rusage before, after;
    struct cluster_index index;

    (void)state;
    assert_int_equal(cluster_index_init(&index, 1 << 20, 7), 0);
    assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
    for (uint32_t i = 0; i < 10000; i++) {
        cluster_index_put(&index, cluster_index_hash(&index, i, 0, 0), 1);
        cluster_index_remove(&index, cluster_index_hash(&index, i, 0, 0), 1);
    }
    assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
    assert_true(after.ru_minflt - before.ru_minflt < 100);
    cluster_index_fini(&index);
}

static void another_secret_gives_another_hash(void **state)
{
    struct cluster_index one, other;
    unsigned equal = 0;

    (void)state;
    assert_int_equal(cluster_index_init(&one, PLACES, 1), 0);
    assert_int_equal(cluster_index_init(&other, PLACES, 2), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(cluster_index_hash(&one, i, 2, 3), cluster_index_hash(&one, i, 2, 3));
        equal += cluster_index_hash(&one, i, 2, 3) == cluster_index_hash(&other, i, 2, 3);
        equal += cluster_index_hash(&one, i, 2, 3) == cluster_index_hash(&one, i, 3, 2);
        equal += cluster_index_hash(&one, 1, i, 3) == cluster_index_hash(&one, 1, i, 4);
    }
    assert_true(equal < 3);
    cluster_index_fini(&one);
    cluster_index_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_is_found_by_its_hash_alone),
        cmocka_unit_test(an_index_grows_with_its_places),
        cmocka_unit_test(few_places_of_a_large_index_touch_few_pages),
        cmocka_unit_test(another_secret_gives_another_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
