/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cluster/base/ids.h"
#include "cluster/core/ops/plan.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x0000010000000000)

static const struct cluster_entry starting = {.state = CLUSTER_ENTRY_STARTING,
                                              .owner = 1,
                                              .session = 5,
                                              .epoch = 1,
                                              .lineage = UINT64_C(1) << 16};

/* r[verify cluster.operation.txn] */
static void a_plan_has_at_most_as_many_entries_as_a_delta(void **state)
{
    struct cluster_plan plan;

    (void)state;
    cluster_plan_init(&plan);
    assert_true(cluster_plan_is_empty(&plan));
    for (uint32_t c = 0; cluster_plan_space(&plan) > 0; c++)
        cluster_plan_entry(&plan, POOL, c, &starting);
    assert_int_equal(plan.changes_count, CLUSTER_DELTA_CHANGES_MAX);
    assert_false(cluster_plan_is_empty(&plan));
    cluster_plan_init(&plan);
    assert_true(cluster_plan_is_empty(&plan));
    assert_int_equal(cluster_plan_space(&plan), CLUSTER_DELTA_CHANGES_MAX);
}

/* r[verify cluster.operation.txn] */
static void a_change_has_what_was_before(void **state)
{
    const struct cluster_address address = {
        .pool = POOL, .container = 4, .revision = 77, .entry = starting};
    struct cluster_plan plan;

    (void)state;
    cluster_plan_init(&plan);
    cluster_plan_entry(&plan, POOL, 3, &starting);
    cluster_plan_change(&plan, &address, NULL);
    assert_int_equal(plan.revisions[0], 0);
    assert_int_equal(plan.changes[0].owner_before, 0);
    assert_int_equal(plan.revisions[1], 77);
    assert_int_equal(plan.changes[1].owner_before, 1);
    assert_int_equal(plan.changes[1].container, 4);
    assert_int_equal(plan.changes[1].entry.state, CLUSTER_ENTRY_NONE);
    assert_true(cluster_delta_is_sound(&plan.changes[1]));
}

/* r[verify cluster.operation.txn] */
static void a_text_is_cut_and_can_be_shown(void **state)
{
    char text[CLUSTER_OPERATIONS_TEXT_MAX + 50];
    struct cluster_plan plan;

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    text[3] = '\n';
    cluster_plan_init(&plan);
    cluster_plan_move(&plan, 1, CLUSTER_OPERATION_ABORTED, -1, text);
    assert_int_equal(strlen(plan.operations[0].text), CLUSTER_OPERATIONS_TEXT_MAX);
    assert_int_equal(plan.operations[0].text[3], '?');
    cluster_plan_forget(&plan, 2);
    assert_int_equal(plan.operations[1].state, CLUSTER_OPERATION_NEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_has_at_most_as_many_entries_as_a_delta),
        cmocka_unit_test(a_change_has_what_was_before),
        cmocka_unit_test(a_text_is_cut_and_can_be_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
