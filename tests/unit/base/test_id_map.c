/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/resource.h>

#include <rapahub/error.h>

#include "hub/base/id_map.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

static void count_one(void *user, uint64_t number, void *value)
{
    uint32_t *count = user;

    (void)number;
    (void)value;
    (*count)++;
}

static uint32_t count_of(const struct hub_id_map *map)
{
    uint32_t count = 0;

    hub_id_map_each(map, count_one, &count);
    return count;
}

static void what_was_put_is_got_and_removed_once(void **state)
{
    struct hub_id_map *map = NULL;
    int value = 5;

    (void)state;
    assert_int_equal(hub_id_map_create(3, &map), 0);
    assert_int_equal(hub_id_map_put(map, 7, &value), 0);
    assert_ptr_equal(hub_id_map_get(map, 7), &value);
    assert_null(hub_id_map_get(map, 8));
    assert_int_equal(count_of(map), 1);
    assert_ptr_equal(hub_id_map_remove(map, 7), &value);
    assert_null(hub_id_map_remove(map, 7));
    assert_null(hub_id_map_get(map, 7));
    assert_int_equal(count_of(map), 0);
    hub_id_map_release(&map);
    assert_null(map);
    hub_id_map_release(&map);
}

static void the_numbers_at_both_ends_are_numbers_too(void **state)
{
    struct hub_id_map *map = NULL;
    int zero = 0, last = 1;

    (void)state;
    assert_int_equal(hub_id_map_create(2, &map), 0);
    assert_null(hub_id_map_get(map, 0));
    assert_int_equal(hub_id_map_put(map, 0, &zero), 0);
    assert_int_equal(hub_id_map_put(map, UINT64_MAX, &last), 0);
    assert_ptr_equal(hub_id_map_get(map, 0), &zero);
    assert_ptr_equal(hub_id_map_get(map, UINT64_MAX), &last);
    hub_id_map_release(&map);
}

static void a_number_that_is_in_it_is_refused_and_stays(void **state)
{
    struct hub_id_map *map = NULL;
    int first = 1, second = 2;

    (void)state;
    assert_int_equal(hub_id_map_create(1, &map), 0);
    assert_int_equal(hub_id_map_put(map, 7, &first), 0);
    assert_int_equal(hub_id_map_put(map, 7, &second), -EEXIST);
    assert_ptr_equal(hub_id_map_get(map, 7), &first);
    assert_int_equal(count_of(map), 1);
    hub_id_map_release(&map);
}

/* r[verify hub.limits] */
static void a_full_map_refuses_until_something_is_removed(void **state)
{
    static const uint32_t capacities[] = {0, 1, 2, 3, 100, 1024};
    int value = 0;

    (void)state;
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        uint32_t capacity = capacities[i];
        struct hub_id_map *map = NULL;

        assert_int_equal(hub_id_map_create(capacity, &map), 0);
        for (uint32_t n = 0; n < capacity; n++)
            assert_int_equal(hub_id_map_put(map, n * 977, &value), 0);
        assert_int_equal(hub_id_map_put(map, UINT64_MAX, &value), -ENOSPC);
        assert_null(hub_id_map_get(map, UINT64_MAX));
        assert_int_equal(count_of(map), capacity);
        if (capacity > 0) {
            assert_non_null(hub_id_map_remove(map, 0));
            assert_int_equal(hub_id_map_put(map, UINT64_MAX, &value), 0);
        }
        hub_id_map_release(&map);
    }
}

#define NUMBERS 64

/* A model: which of the numbers are in the map is kept in an array too. Few numbers and a small
 * map, so that runs of entries touch, wrap around and are torn apart. */
static void a_long_mix_of_puts_and_removes_behaves_like_an_array(void **state)
{
    bool model[NUMBERS] = {false};
    char places[NUMBERS];
    struct hub_id_map *map = NULL;
    struct hub_random random;
    uint32_t count = 0;

    (void)state;
    hub_random_init(&random, 42);
    assert_int_equal(hub_id_map_create(NUMBERS / 2, &map), 0);
    for (int turn = 0; turn < 20000; turn++) {
        uint64_t n = hub_random_below(&random, NUMBERS);

        if (hub_random_below(&random, 2) == 0) {
            int r = hub_id_map_put(map, n, &places[n]);

            assert_int_equal(r, model[n] ? -EEXIST : count == NUMBERS / 2 ? -ENOSPC : 0);
            count += r == 0 ? 1 : 0;
            model[n] = model[n] || r == 0;
        } else {
            assert_ptr_equal(hub_id_map_remove(map, n), model[n] ? &places[n] : NULL);
            count -= model[n] ? 1 : 0;
            model[n] = false;
        }
        n = hub_random_below(&random, NUMBERS);
        assert_ptr_equal(hub_id_map_get(map, n), model[n] ? &places[n] : NULL);
        assert_int_equal(count_of(map), count);
    }
    hub_id_map_release(&map);
}

#define MANY 5000

/* Each entry is found before and after each time that the map becomes larger. */
static void a_map_grows_with_its_entries(void **state)
{
    static char places[MANY];
    struct hub_id_map *map = NULL;

    (void)state;
    assert_int_equal(hub_id_map_create(MANY, &map), 0);
    for (uint64_t n = 0; n < MANY; n++) {
        assert_int_equal(hub_id_map_put(map, n * 977, &places[n]), 0);
        assert_ptr_equal(hub_id_map_get(map, n / 2 * 977), &places[n / 2]);
        assert_null(hub_id_map_get(map, (n + 1) * 977));
    }
    assert_int_equal(hub_id_map_put(map, UINT64_MAX, places), -ENOSPC);
    assert_int_equal(count_of(map), MANY);
    for (uint64_t n = 0; n < MANY; n++)
        assert_ptr_equal(hub_id_map_get(map, n * 977), &places[n]);
    for (uint64_t n = 0; n < MANY; n += 2)
        assert_ptr_equal(hub_id_map_remove(map, n * 977), &places[n]);
    for (uint64_t n = 0; n < MANY; n++)
        assert_ptr_equal(hub_id_map_get(map, n * 977), n % 2 == 0 ? NULL : &places[n]);
    assert_int_equal(count_of(map), MANY / 2);
    hub_id_map_release(&map);
}

/* Each page that is touched for the first time costs a fault. */
static void few_entries_of_a_large_map_touch_few_pages(void **state)
{
    struct hub_id_map *map = NULL;
    struct rusage before, after;
    int value = 0;

    (void)state;
    assert_int_equal(hub_id_map_create(1 << 20, &map), 0);
    assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
    for (uint64_t n = 1; n <= 10000; n++) {
        assert_int_equal(hub_id_map_put(map, n, &value), 0);
        assert_ptr_equal(hub_id_map_remove(map, n), &value);
    }
    assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
    assert_true(after.ru_minflt - before.ru_minflt < 100);
    hub_id_map_release(&map);
}

struct visits {
    uint64_t sum;
    uint32_t count;
};

static void visit(void *user, uint64_t number, void *value)
{
    struct visits *visits = user;

    assert_int_equal(number, *(uint64_t *)value);
    visits->sum += number;
    visits->count++;
}

static void each_entry_is_visited_once(void **state)
{
    uint64_t values[20];
    struct visits visits = {0, 0};
    struct hub_id_map *map = NULL;

    (void)state;
    assert_int_equal(hub_id_map_create(20, &map), 0);
    hub_id_map_each(map, visit, &visits);
    assert_int_equal(visits.count, 0);
    for (uint64_t i = 0; i < 20; i++) {
        values[i] = i + 1;
        assert_int_equal(hub_id_map_put(map, i + 1, &values[i]), 0);
    }
    hub_id_map_each(map, visit, &visits);
    assert_int_equal(visits.count, 20);
    assert_int_equal(visits.sum, 210);
    hub_id_map_release(&map);
}

static void a_map_too_large_for_its_slots_is_refused(void **state)
{
    struct hub_id_map *map = NULL;

    (void)state;
    assert_int_equal(hub_id_map_create((UINT32_C(1) << 30) + 1, &map), RAPAHUB_ENOMEM);
    assert_int_equal(hub_id_map_create(UINT32_MAX, &map), RAPAHUB_ENOMEM);
    assert_null(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_got_and_removed_once),
        cmocka_unit_test(the_numbers_at_both_ends_are_numbers_too),
        cmocka_unit_test(a_number_that_is_in_it_is_refused_and_stays),
        cmocka_unit_test(a_full_map_refuses_until_something_is_removed),
        cmocka_unit_test(a_long_mix_of_puts_and_removes_behaves_like_an_array),
        cmocka_unit_test(a_map_grows_with_its_entries),
        cmocka_unit_test(few_entries_of_a_large_map_touch_few_pages),
        cmocka_unit_test(each_entry_is_visited_once),
        cmocka_unit_test(a_map_too_large_for_its_slots_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
