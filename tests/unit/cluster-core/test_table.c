/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/table.h"
#include "tests/support/testing.h"

#define ROWS 7

static void a_place_is_given_out_once(void **state)
{
    struct cluster_table table;
    bool taken[ROWS + 1] = {false};

    (void)state;
    assert_int_equal(cluster_table_init(&table, ROWS, sizeof(uint64_t)), 0);
    for (int i = 0; i < ROWS; i++) {
        uint32_t place = cluster_table_take(&table);

        assert_true(place >= 1 && place <= ROWS && !taken[place]);
        taken[place] = true;
    }
    assert_int_equal(cluster_table_take(&table), 0);
    assert_int_equal(table.count, ROWS);
    cluster_table_give(&table, 3);
    assert_int_equal(cluster_table_take(&table), 3);
    cluster_table_fini(&table);
}

static void a_row_is_zeroed_when_it_is_taken_again(void **state)
{
    struct cluster_table table;
    uint32_t place;

    (void)state;
    assert_int_equal(cluster_table_init(&table, ROWS, sizeof(uint64_t)), 0);
    place = cluster_table_take(&table);
    *(uint64_t *)cluster_table_at(&table, place) = UINT64_MAX;
    cluster_table_give(&table, place);
    assert_int_equal(cluster_table_take(&table), place);
    assert_int_equal(*(uint64_t *)cluster_table_at(&table, place), 0);
    cluster_table_fini(&table);
}

static void only_places_in_use_are_met(void **state)
{
    struct cluster_table table;
    uint32_t place = 0, met = 0;

    (void)state;
    assert_int_equal(cluster_table_init(&table, ROWS, 1), 0);
    assert_int_equal(cluster_table_after(&table, 0), 0);
    for (int i = 0; i < ROWS; i++)
        (void)cluster_table_take(&table);
    cluster_table_give(&table, 1);
    cluster_table_give(&table, 4);
    cluster_table_give(&table, ROWS);
    while ((place = cluster_table_after(&table, place)) != 0)
        met = met * 10 + place;
    assert_int_equal(met, 2356);
    assert_false(cluster_table_has(&table, 0));
    assert_false(cluster_table_has(&table, 4));
    assert_true(cluster_table_has(&table, 5));
    assert_false(cluster_table_has(&table, ROWS + 1));
    assert_false(cluster_table_has(&table, UINT32_MAX));
    cluster_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_given_out_once),
        cmocka_unit_test(a_row_is_zeroed_when_it_is_taken_again),
        cmocka_unit_test(only_places_in_use_are_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
