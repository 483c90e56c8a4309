/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/timers.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define MOST  50
#define STEPS 20000

static uint64_t set(struct cluster_timers *timers, uint64_t at_ns, uint64_t number)
{
    return cluster_timers_set(timers, &(struct cluster_timer){at_ns, number, 1});
}

static void timers_come_by_time_then_in_the_order_of_setting(void **state)
{
    const uint64_t times[] = {30, 10, 20, 10, 30, 10}, order[] = {1, 3, 5, 2, 0, 4};
    struct cluster_timers *timers;
    struct cluster_timer timer;

    (void)state;
    assert_int_equal(cluster_timers_create(MOST, &timers), 0);
    assert_int_equal(cluster_timers_next(timers), CLUSTER_TIMERS_NEVER);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(set(timers, times[i], i) != 0);
    assert_int_equal(cluster_timers_next(timers), 10);
    assert_false(cluster_timers_take(timers, 9, &timer));
    for (int i = 0; i < 6; i++) {
        assert_true(cluster_timers_take(timers, 30, &timer));
        assert_int_equal(timer.number, order[i]);
        assert_int_equal(timer.at_ns, times[order[i]]);
    }
    assert_false(cluster_timers_take(timers, UINT64_MAX, &timer));
    cluster_timers_release(&timers);
}

static void a_timer_that_has_gone_cannot_be_cleared(void **state)
{
    struct cluster_timers *timers;
    struct cluster_timer timer;
    uint64_t first, second;

    (void)state;
    assert_int_equal(cluster_timers_create(1, &timers), 0);
    first = set(timers, 5, 0);
    assert_int_equal(set(timers, 5, 0), 0);
    assert_true(cluster_timers_clear(timers, first));
    assert_false(cluster_timers_clear(timers, first));
    second = set(timers, 6, 0);
    assert_true(second != 0 && second != first);
    assert_false(cluster_timers_clear(timers, first));
    assert_false(cluster_timers_clear(timers, 0));
    assert_true(cluster_timers_take(timers, 6, &timer));
    assert_false(cluster_timers_clear(timers, second));
    cluster_timers_release(&timers);
}

struct model {
    uint64_t id, at_ns, order;
};

static int first_of(const struct model *model)
{
    int first = -1;

    for (int i = 0; i < MOST; i++)
        if (model[i].id != 0 &&
            (first < 0 || model[i].at_ns < model[first].at_ns ||
             (model[i].at_ns == model[first].at_ns && model[i].order < model[first].order)))
            first = i;
    return first;
}

static void timers_are_those_of_a_list_that_is_searched(void **state)
{
    struct model model[MOST] = {{0}};
    struct hub_random random;
    struct cluster_timers *timers;

    (void)state;
    hub_random_init(&random, 1);
    assert_int_equal(cluster_timers_create(MOST, &timers), 0);
    for (uint64_t step = 1; step < STEPS; step++) {
        uint64_t i = hub_random_below(&random, MOST), at_ns = hub_random_below(&random, 20);
        int first = first_of(model);
        struct cluster_timer timer;

        assert_int_equal(cluster_timers_next(timers),
                         first < 0 ? CLUSTER_TIMERS_NEVER : model[first].at_ns);
        if (step % 3 == 0 && first >= 0) {
            assert_true(cluster_timers_take(timers, model[first].at_ns, &timer));
            assert_int_equal(timer.number, first);
            model[first].id = 0;
        } else if (model[i].id != 0) {
            assert_true(cluster_timers_clear(timers, model[i].id));
            model[i].id = 0;
        } else {
            model[i] = (struct model){set(timers, at_ns, i), at_ns, step};
            assert_true(model[i].id != 0);
        }
    }
    cluster_timers_release(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_come_by_time_then_in_the_order_of_setting),
        cmocka_unit_test(a_timer_that_has_gone_cannot_be_cleared),
        cmocka_unit_test(timers_are_those_of_a_list_that_is_searched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
