/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/link/credit.h"
#include "tests/support/testing.h"

#define WHOLE 800

/* r[verify cluster.link.credit] */
static void a_body_begins_while_credit_is_left_and_may_take_more(void **state)
{
    struct cluster_credit credit;

    (void)state;
    cluster_credit_init(&credit, WHOLE);
    cluster_credit_sent(&credit, WHOLE - 1);
    assert_true(cluster_credit_may_send(&credit));
    cluster_credit_sent(&credit, 5000);
    assert_false(cluster_credit_may_send(&credit));
    assert_int_equal(cluster_credit_gain(&credit, 5000), 0);
    assert_true(cluster_credit_may_send(&credit));
}

/* r[verify cluster.link.credit] */
static void no_more_credit_comes_back_than_was_taken(void **state)
{
    struct cluster_credit credit;

    (void)state;
    cluster_credit_init(&credit, WHOLE);
    assert_int_equal(cluster_credit_gain(&credit, 1), RAPAHUB_EPROTOCOL);
    cluster_credit_sent(&credit, 10);
    assert_int_equal(cluster_credit_gain(&credit, 11), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "cluster.link.credit");
    assert_int_equal(cluster_credit_gain(&credit, 10), 0);
    assert_int_equal(cluster_credit_gain(&credit, UINT32_MAX), RAPAHUB_EPROTOCOL);
}

/* r[verify cluster.link.credit] */
static void who_begins_without_credit_is_refused(void **state)
{
    struct cluster_credit credit;

    (void)state;
    cluster_credit_init(&credit, WHOLE);
    cluster_credit_received(&credit, WHOLE - 1);
    assert_int_equal(cluster_credit_begin(&credit), 0);
    cluster_credit_received(&credit, 1);
    assert_int_equal(cluster_credit_begin(&credit), RAPAHUB_EPROTOCOL);
}

/* r[verify cluster.link.credit] */
static void credit_goes_back_in_eighths(void **state)
{
    struct cluster_credit credit;

    (void)state;
    cluster_credit_init(&credit, WHOLE);
    cluster_credit_received(&credit, WHOLE);
    assert_int_equal(cluster_credit_consume(&credit, WHOLE / 8 - 1), 0);
    assert_int_equal(cluster_credit_consume(&credit, 1), WHOLE / 8);
    assert_int_equal(cluster_credit_consume(&credit, 1), 0);
    assert_int_equal(cluster_credit_consume(&credit, WHOLE), WHOLE + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_begins_while_credit_is_left_and_may_take_more),
        cmocka_unit_test(no_more_credit_comes_back_than_was_taken),
        cmocka_unit_test(who_begins_without_credit_is_refused),
        cmocka_unit_test(credit_goes_back_in_eighths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
