/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/calls/order.h"
#include "tests/support/testing.h"

#define POOL   UINT64_C(0x0000010000000000)
#define CLIENT (UINT64_C(1) << 63)
#define MOST   3

static const struct cluster_order_key key = {POOL, CLIENT, 5, 1};

static struct cluster_order *open_order(void)
{
    struct cluster_order *order;

    assert_int_equal(cluster_order_create(MOST, 1, &order), 0);
    return order;
}

static uint64_t submit(struct cluster_order *order, const struct cluster_order_key *in,
                       uint64_t number)
{
    uint64_t previous;

    assert_int_equal(cluster_order_submit(order, in, number, &previous), 0);
    return previous;
}

/* r[verify cluster.order.admit] */
static void a_call_is_admitted_after_the_one_before_it(void **state)
{
    struct cluster_order *order = open_order();
    struct cluster_order_key other = key;

    (void)state;
    assert_true(cluster_order_may(order, &key, 0, 0));
    assert_false(cluster_order_may(order, &key, 10, 0));
    assert_false(cluster_order_may(order, &key, 10, 10));
    assert_true(cluster_order_may(order, &key, 10, 11));
    assert_int_equal(submit(order, &key, 10), 0);
    assert_true(cluster_order_may(order, &key, 10, 0));
    assert_false(cluster_order_may(order, &key, 11, 0));
    other.order = 2;
    assert_false(cluster_order_may(order, &other, 10, 0));
    other = key;
    other.container = 6;
    assert_false(cluster_order_may(order, &other, 10, 0));
    other = key;
    other.origin++;
    assert_false(cluster_order_may(order, &other, 10, 0));
    cluster_order_release(&order);
}

/* r[verify cluster.order.admit] */
static void each_call_names_the_one_before_it_while_that_is_open(void **state)
{
    struct cluster_order *order = open_order();
    uint64_t previous;

    (void)state;
    assert_int_equal(submit(order, &key, 10), 0);
    assert_int_equal(submit(order, &key, 12), 10);
    assert_int_equal(cluster_order_submit(order, &key, 12, &previous), RAPAHUB_ESTALE);
    assert_int_equal(cluster_order_submit(order, &key, 3, &previous), RAPAHUB_ESTALE);
    cluster_order_end(order, &key, 10);
    assert_int_equal(submit(order, &key, 14), 12);
    cluster_order_end(order, &key, 14);
    cluster_order_end(order, &key, 14);
    assert_int_equal(cluster_order_count(order), 0);
    assert_int_equal(submit(order, &key, 15), 0);
    cluster_order_release(&order);
}

/* r[verify cluster.order.bounds] */
static void more_orders_than_there_may_be_are_refused(void **state)
{
    struct cluster_order *order = open_order();
    struct cluster_order_key in = key;
    uint64_t previous;

    (void)state;
    for (in.order = 1; in.order <= MOST; in.order++)
        assert_int_equal(submit(order, &in, 10), 0);
    assert_int_equal(cluster_order_submit(order, &in, 10, &previous), RAPAHUB_EBUSY);
    assert_int_equal(submit(order, &key, 11), 10);
    cluster_order_end(order, &key, 11);
    assert_int_equal(submit(order, &in, 10), 0);
    cluster_order_release(&order);
}

static void orders_of_a_container_or_of_an_origin_are_forgotten(void **state)
{
    struct cluster_order *order = open_order();
    struct cluster_order_key others = key, elsewhere = key;

    (void)state;
    others.origin++;
    elsewhere.container++;
    (void)submit(order, &key, 10);
    (void)submit(order, &others, 10);
    (void)submit(order, &elsewhere, 10);
    cluster_order_forget(order, POOL, key.container, key.origin);
    assert_false(cluster_order_may(order, &key, 10, 0));
    assert_true(cluster_order_may(order, &others, 10, 0));
    cluster_order_forget(order, POOL, key.container, 0);
    assert_false(cluster_order_may(order, &others, 10, 0));
    assert_true(cluster_order_may(order, &elsewhere, 10, 0));
    cluster_order_release(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_admitted_after_the_one_before_it),
        cmocka_unit_test(each_call_names_the_one_before_it_while_that_is_open),
        cmocka_unit_test(more_orders_than_there_may_be_are_refused),
        cmocka_unit_test(orders_of_a_container_or_of_an_origin_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
