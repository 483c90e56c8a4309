/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/calls/parking.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)

static const struct cluster_limits small = {
    .parked = 6, .parked_container = 4, .parked_bytes = 1000, .parked_container_bytes = 600};

static struct cluster_parking *open_parking(void)
{
    struct cluster_parking *parking;

    assert_int_equal(cluster_parking_create(&small, 1, &parking), 0);
    return parking;
}

static int park(struct cluster_parking *parking, uint32_t container, uint64_t number,
                uint64_t bytes, uint64_t *id)
{
    const struct cluster_parking_call call = {POOL, container, number, bytes};

    return cluster_parking_park(parking, &call, id);
}

/* r[verify cluster.parking.order] */
static void calls_leave_in_the_order_in_which_they_came(void **state)
{
    struct cluster_parking *parking = open_parking();
    uint64_t ids[4], number;

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(park(parking, i == 2 ? 8 : 7, 100 + i, 10, &ids[i]), 0);
    assert_true(cluster_parking_remove(parking, ids[1]));
    assert_false(cluster_parking_remove(parking, ids[1]));
    assert_int_equal(cluster_parking_figures(parking, POOL, 7).calls, 2);
    assert_true(cluster_parking_take(parking, POOL, 7, &number));
    assert_int_equal(number, 100);
    assert_false(cluster_parking_remove(parking, ids[0]));
    assert_true(cluster_parking_take(parking, POOL, 7, &number));
    assert_int_equal(number, 103);
    assert_false(cluster_parking_take(parking, POOL, 7, &number));
    assert_true(cluster_parking_take(parking, POOL, 8, &number));
    assert_int_equal(number, 102);
    assert_int_equal(cluster_parking_figures(parking, 0, 0).calls, 0);
    assert_int_equal(cluster_parking_figures(parking, 0, 0).bytes, 0);
    cluster_parking_release(&parking);
}

/* r[verify cluster.parking.order] */
static void an_id_is_of_one_call(void **state)
{
    struct cluster_parking *parking = open_parking();
    uint64_t first, second, number;

    (void)state;
    assert_int_equal(park(parking, 7, 100, 10, &first), 0);
    assert_true(cluster_parking_take(parking, POOL, 7, &number));
    assert_int_equal(park(parking, 7, 101, 10, &second), 0);
    assert_false(cluster_parking_remove(parking, first));
    assert_true(cluster_parking_remove(parking, second));
    cluster_parking_release(&parking);
}

/* r[verify cluster.parking.order] */
static void containers_at_which_none_waits_take_no_space(void **state)
{
    struct cluster_parking *parking = open_parking();
    uint64_t id, number;

    (void)state;
    for (uint32_t i = 0; i < 3 * small.parked; i++) {
        assert_int_equal(park(parking, i, i, 1, &id), 0);
        assert_true(cluster_parking_take(parking, POOL, i, &number));
        assert_int_equal(number, i);
    }
    cluster_parking_release(&parking);
}

/* r[verify cluster.parking.bounds] */
static void more_calls_or_bytes_than_may_wait_are_refused(void **state)
{
    struct cluster_parking *parking = open_parking();
    uint64_t id, number;

    (void)state;
    assert_int_equal(park(parking, 7, 1, 601, &id), RAPAHUB_EBUSY);
    assert_int_equal(park(parking, 7, 1, UINT64_MAX, &id), RAPAHUB_EBUSY);
    assert_int_equal(park(parking, 7, 1, 600, &id), 0);
    assert_int_equal(park(parking, 7, 2, 1, &id), RAPAHUB_EBUSY);
    assert_int_equal(park(parking, 8, 2, 401, &id), RAPAHUB_EBUSY);
    assert_int_equal(park(parking, 8, 2, 400, &id), 0);
    assert_int_equal(park(parking, 9, 2, 1, &id), RAPAHUB_EBUSY);
    assert_true(cluster_parking_take(parking, POOL, 7, &number));
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(park(parking, 7, i, 0, &id), 0);
    assert_int_equal(park(parking, 7, 5, 0, &id), RAPAHUB_EBUSY);
    assert_int_equal(park(parking, 9, 5, 0, &id), 0);
    assert_int_equal(park(parking, 10, 5, 0, &id), RAPAHUB_EBUSY);
    assert_int_equal(cluster_parking_figures(parking, POOL, 7).calls, 4);
    assert_int_equal(cluster_parking_figures(parking, POOL, 10).calls, 0);
    cluster_parking_release(&parking);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_leave_in_the_order_in_which_they_came),
        cmocka_unit_test(an_id_is_of_one_call),
        cmocka_unit_test(containers_at_which_none_waits_take_no_space),
        cmocka_unit_test(more_calls_or_bytes_than_may_wait_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
