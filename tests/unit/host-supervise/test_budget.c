/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/supervise/budget.h"
#include "tests/support/testing.h"

#define PERIOD UINT64_C(1000000)

static void fill(struct host_budget *budget, uint32_t max, uint64_t period_ns, uint64_t at)
{
    assert_int_equal(host_budget_init(budget, max, period_ns), 0);
    for (uint32_t i = 0; i < max; i++)
        assert_true(host_budget_spend(budget, at));
}

static void as_many_restarts_as_allowed_pass_and_the_next_is_over(void **state)
{
    struct host_budget budget;

    (void)state;
    fill(&budget, 5, PERIOD, 100);
    assert_int_equal(host_budget_used(&budget, 100), 5);
    assert_false(host_budget_spend(&budget, 101));
}

/* r[verify supervise.window] */
static void a_failure_one_period_ago_no_longer_counts(void **state)
{
    struct host_budget budget;

    (void)state;
    fill(&budget, 3, PERIOD, 100);
    assert_false(host_budget_spend(&budget, 100 + PERIOD - 1));
    fill(&budget, 3, PERIOD, 100);
    assert_true(host_budget_spend(&budget, 100 + PERIOD));
    fill(&budget, 3, PERIOD, 100);
    assert_true(host_budget_spend(&budget, 100 + PERIOD + 1));
    assert_int_equal(host_budget_used(&budget, 100 + PERIOD + 1), 1);
}

static void the_window_slides_over_single_failures(void **state)
{
    struct host_budget budget;

    (void)state;
    assert_int_equal(host_budget_init(&budget, 2, PERIOD), 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(host_budget_spend(&budget, 1 + i * (PERIOD / 2)));
    assert_false(host_budget_spend(&budget, 1 + 99 * (PERIOD / 2) + 1));
}

static void a_period_of_zero_counts_for_life(void **state)
{
    struct host_budget budget;

    (void)state;
    fill(&budget, 2, 0, 100);
    assert_int_equal(host_budget_used(&budget, UINT64_MAX), 2);
    assert_false(host_budget_spend(&budget, UINT64_MAX));
}

static void with_no_restarts_the_first_failure_is_over(void **state)
{
    struct host_budget budget;

    (void)state;
    assert_int_equal(host_budget_init(&budget, 0, PERIOD), 0);
    assert_false(host_budget_spend(&budget, 1));
    assert_int_equal(host_budget_used(&budget, 1), 0);
}

static void a_failure_over_the_budget_counts_too(void **state)
{
    struct host_budget budget;

    (void)state;
    fill(&budget, 1, PERIOD, 100);
    assert_false(host_budget_spend(&budget, 100 + PERIOD - 1));
    assert_false(host_budget_spend(&budget, 100 + PERIOD));
    assert_true(host_budget_spend(&budget, 100 + 2 * PERIOD));
}

static void a_reset_forgets_all_failures(void **state)
{
    struct host_budget budget;

    (void)state;
    fill(&budget, 4, PERIOD, 100);
    host_budget_reset(&budget);
    assert_int_equal(host_budget_used(&budget, 100), 0);
    for (int i = 0; i < 4; i++)
        assert_true(host_budget_spend(&budget, 101));
    assert_false(host_budget_spend(&budget, 101));
}

static void more_restarts_than_the_ring_holds_are_refused(void **state)
{
    struct host_budget budget;

    (void)state;
    assert_int_equal(host_budget_init(&budget, HOST_BUDGET_MAX + 1, PERIOD), RAPAHUB_EINVAL);
    fill(&budget, HOST_BUDGET_MAX, PERIOD, 1);
    assert_false(host_budget_spend(&budget, 1));
}

/* r[verify supervise.window] */
static void for_life_there_may_be_any_number(void **state)
{
    struct host_budget budget;

    (void)state;
    fill(&budget, 100000, 0, 1);
    assert_int_equal(host_budget_used(&budget, UINT64_MAX), 100000);
    assert_false(host_budget_spend(&budget, UINT64_MAX));
    host_budget_reset(&budget);
    assert_true(host_budget_spend(&budget, 1));
    assert_int_equal(host_budget_init(&budget, UINT32_MAX, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_restarts_as_allowed_pass_and_the_next_is_over),
        cmocka_unit_test(a_failure_one_period_ago_no_longer_counts),
        cmocka_unit_test(the_window_slides_over_single_failures),
        cmocka_unit_test(a_period_of_zero_counts_for_life),
        cmocka_unit_test(with_no_restarts_the_first_failure_is_over),
        cmocka_unit_test(a_failure_over_the_budget_counts_too),
        cmocka_unit_test(a_reset_forgets_all_failures),
        cmocka_unit_test(more_restarts_than_the_ring_holds_are_refused),
        cmocka_unit_test(for_life_there_may_be_any_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
