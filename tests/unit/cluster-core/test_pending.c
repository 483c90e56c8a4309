/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/base/pending.h"
#include "tests/support/testing.h"

#define MOST 4

/* r[verify cluster.core.answer] */
static void a_question_has_one_answer(void **state)
{
    struct cluster_pending *pending;
    uint64_t first, second, subject = 0;

    (void)state;
    assert_int_equal(cluster_pending_create(MOST, &pending), 0);
    first = cluster_pending_add(pending, &(struct cluster_pending_question){3, 70});
    second = cluster_pending_add(pending, &(struct cluster_pending_question){3, 71});
    assert_true(first != 0 && second != 0 && first != second);
    assert_true(cluster_pending_end(pending, first, 3, &subject));
    assert_int_equal(subject, 70);
    subject = 0;
    assert_false(cluster_pending_end(pending, first, 3, &subject));
    assert_false(cluster_pending_end(pending, second, 4, &subject));
    assert_false(cluster_pending_end(pending, 0, 3, &subject));
    assert_false(cluster_pending_end(pending, UINT64_MAX, 3, &subject));
    assert_int_equal(subject, 0);
    assert_int_equal(cluster_pending_count(pending), 1);
    assert_true(cluster_pending_end(pending, second, 3, &subject));
    cluster_pending_release(&pending);
}

/* r[verify cluster.core.answer] */
static void an_answer_that_comes_late_is_not_that_of_the_next_question(void **state)
{
    struct cluster_pending *pending;
    uint64_t ids[MOST], subject;

    (void)state;
    assert_int_equal(cluster_pending_create(MOST, &pending), 0);
    for (int i = 0; i < MOST; i++)
        ids[i] = cluster_pending_add(pending, &(struct cluster_pending_question){1, 0});
    assert_int_equal(cluster_pending_add(pending, &(struct cluster_pending_question){1, 0}), 0);
    for (int i = 0; i < MOST; i++)
        assert_true(cluster_pending_end(pending, ids[i], 1, &subject));
    for (int i = 0; i < MOST; i++)
        assert_true(cluster_pending_add(pending, &(struct cluster_pending_question){1, 0}) != 0);
    for (int i = 0; i < MOST; i++)
        assert_false(cluster_pending_end(pending, ids[i], 1, &subject));
    cluster_pending_release(&pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_has_one_answer),
        cmocka_unit_test(an_answer_that_comes_late_is_not_that_of_the_next_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
