/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "hub/base/budget.h"
#include "tests/support/testing.h"

#define THREADS 4
#define ROUNDS  500000
#define STORMS  10 /* two threads do not always meet in one */

/* r[verify sec.call.budget] */
static void beyond_its_bound_nothing_is_taken(void **state)
{
    struct hub_budget *budget = hub_budget_create(100);

    (void)state;
    assert_non_null(budget);
    assert_true(hub_budget_take(budget, 60));
    assert_false(hub_budget_take(budget, 41));
    assert_false(hub_budget_take(budget, SIZE_MAX));
    assert_true(hub_budget_take(budget, 40));
    assert_false(hub_budget_take(budget, 1));
    hub_budget_give(budget, 40);
    assert_true(hub_budget_take(budget, 40));
    assert_int_equal(hub_load_relaxed64(&budget->used), 100);
    assert_int_equal(hub_load_relaxed64(&budget->refused), 0);
    hub_budget_note_refused(budget);
    assert_int_equal(hub_load_relaxed64(&budget->refused), 1);
    hub_budget_drop(&budget);
    assert_null(budget);
    hub_budget_drop(&budget);
}

static void what_must_be_kept_counts_too(void **state)
{
    struct hub_budget *budget = hub_budget_create(100);

    (void)state;
    hub_budget_charge(budget, 150);
    assert_false(hub_budget_take(budget, 0));
    hub_budget_give(budget, 100);
    assert_true(hub_budget_take(budget, 50));
    hub_budget_drop(&budget);
}

static void half_of_it_is_for_what_is_under_way(void **state)
{
    struct hub_budget *budget = hub_budget_create(100);

    (void)state;
    assert_true(hub_budget_has_half(budget, 0));
    hub_budget_charge(budget, 50);
    assert_true(hub_budget_has_half(budget, 0));
    hub_budget_charge(budget, 30);
    assert_false(hub_budget_has_half(budget, 0));
    assert_false(hub_budget_has_half(budget, 29));
    assert_true(hub_budget_has_half(budget, 30));
    assert_true(hub_budget_has_half(budget, 90));
    hub_budget_drop(&budget);
}

static void it_lasts_as_long_as_anybody_holds_it(void **state)
{
    struct hub_budget *budget = hub_budget_create(100), *other = hub_budget_hold(budget);

    (void)state;
    assert_ptr_equal(other, budget);
    hub_budget_drop(&budget);
    assert_true(hub_budget_take(other, 100));
    hub_budget_drop(&other);
}

static pthread_barrier_t begun;

/* Takes 3 of a bound of 10: never do more than three threads have theirs. */
static void *take_and_give(void *user)
{
    struct hub_budget *budget = user;
    bool within = true;

    pthread_barrier_wait(&begun);
    for (int i = 0; i < ROUNDS; i++) {
        if (!hub_budget_take(budget, 3))
            continue;
        within = within && hub_load_relaxed64(&budget->used) <= 10;
        hub_budget_give(budget, 3);
    }
    hub_budget_drop(&budget);
    return within ? user : NULL;
}

static void take_together(void)
{
    struct hub_budget *budget = hub_budget_create(10);
    pthread_t threads[THREADS];
    void *within;

    pthread_barrier_init(&begun, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, hub_budget_hold(budget)),
                         0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &within);
        assert_non_null(within);
    }
    assert_int_equal(hub_load_relaxed64(&budget->used), 0);
    hub_budget_drop(&budget);
    pthread_barrier_destroy(&begun);
}

static void threads_together_do_not_pass_its_bound(void **state)
{
    (void)state;
    for (int i = 0; i < STORMS; i++)
        take_together();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beyond_its_bound_nothing_is_taken),
        cmocka_unit_test(what_must_be_kept_counts_too),
        cmocka_unit_test(half_of_it_is_for_what_is_under_way),
        cmocka_unit_test(it_lasts_as_long_as_anybody_holds_it),
        cmocka_unit_test(threads_together_do_not_pass_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
