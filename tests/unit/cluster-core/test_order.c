/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/order.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define POOL   UINT64_C(0x0000010000000000)
#define CLIENT (UINT64_C(1) << 63)
#define MOST   12

static const struct cluster_order_key key = {POOL, CLIENT, 5, 1};

static struct cluster_order *open_order(void)
{
    struct cluster_order *order;

    assert_int_equal(cluster_order_create(MOST, 1, &order), 0);
    return order;
}

static uint64_t add(struct cluster_order *order, uint64_t number)
{
    const struct cluster_order_call call = {key, number, 100 + number};
    uint64_t id = cluster_order_add(order, &call);

    assert_true(id != 0);
    return id;
}

/* Returns the number of the call that is taken next; 0: there is none. */
static uint64_t take(struct cluster_order *order)
{
    uint64_t subject = 100;

    (void)cluster_order_take(order, &subject);
    return subject - 100;
}

/* r[verify cluster.order.admit] */
static void a_call_may_be_admitted_after_all_before_it(void **state)
{
    struct cluster_order *order = open_order();
    uint64_t twelve = add(order, 12), ten = add(order, 10), eleven = add(order, 11);

    (void)state;
    assert_true(cluster_order_may(order, ten));
    assert_false(cluster_order_may(order, eleven));
    cluster_order_admit(order, ten);
    assert_true(cluster_order_may(order, eleven));
    assert_false(cluster_order_may(order, twelve));
    cluster_order_end(order, eleven);
    assert_true(cluster_order_may(order, twelve));
    cluster_order_admit(order, twelve);
    cluster_order_end(order, ten);
    cluster_order_end(order, twelve);
    assert_int_equal(cluster_order_count(order), 0);
    cluster_order_release(&order);
}

/* r[verify cluster.order.admit] */
static void orders_do_not_wait_for_each_other(void **state)
{
    struct cluster_order *order = open_order();
    const struct cluster_order_key others[] = {{POOL + 1, CLIENT, 5, 1},
                                               {POOL, CLIENT + 1, 5, 1},
                                               {POOL, CLIENT, 6, 1},
                                               {POOL, CLIENT, 5, 2}};

    (void)state;
    (void)add(order, 10);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct cluster_order_call call = {others[i], 20, 0};

        assert_true(cluster_order_may(order, cluster_order_add(order, &call)));
        assert_true(cluster_order_has(order, &others[i], 20));
        assert_false(cluster_order_has(order, &others[i], 10));
    }
    assert_true(cluster_order_has(order, &key, 10));
    assert_false(cluster_order_has(order, &key, 20));
    cluster_order_release(&order);
}

/* r[verify cluster.order.admit] */
static void a_call_that_waits_is_taken_in_its_turn(void **state)
{
    struct cluster_order *order = open_order();
    uint64_t ten = add(order, 10), eleven = add(order, 11), twelve = add(order, 12);

    (void)state;
    cluster_order_wait(order, twelve, false);
    cluster_order_wait(order, eleven, false);
    assert_int_equal(take(order), 0);
    cluster_order_admit(order, ten);
    assert_int_equal(take(order), 11);
    assert_int_equal(take(order), 0);
    cluster_order_wait(order, eleven, false);
    assert_int_equal(take(order), 0); /* nothing has changed */
    (void)add(order, 20);
    assert_int_equal(take(order), 11);
    cluster_order_end(order, eleven);
    assert_int_equal(take(order), 12);
    cluster_order_release(&order);
}

/* r[verify cluster.order.admit] */
static void lost_calls_are_admitted_again_in_the_order(void **state)
{
    struct cluster_order *order = open_order();
    uint64_t ten = add(order, 10), eleven = add(order, 11), again = add(order, 10);

    (void)state;
    cluster_order_admit(order, ten);
    cluster_order_admit(order, again);
    cluster_order_admit(order, eleven);
    cluster_order_lose(order, eleven);
    cluster_order_lose(order, again);
    cluster_order_lose(order, ten);
    cluster_order_wait(order, eleven, false);
    assert_false(cluster_order_may(order, eleven));
    assert_true(cluster_order_may(order, again)); /* the same call */
    cluster_order_admit(order, again);
    assert_false(cluster_order_may(order, eleven));
    assert_int_equal(take(order), 0);
    cluster_order_admit(order, ten);
    assert_int_equal(take(order), 11);
    cluster_order_release(&order);
}

static void one_more_than_there_may_be_is_not_added(void **state)
{
    struct cluster_order *order = open_order();
    const struct cluster_order_call call = {key, 1, 0};

    (void)state;
    for (uint64_t i = 0; i < MOST; i++)
        (void)add(order, 10 + i);
    assert_int_equal(cluster_order_add(order, &call), 0);
    cluster_order_release(&order);
}

/* ---- random orders, against a plain array ---- */

struct plain {
    uint64_t id, number;
    uint32_t order;
    bool admitted, waits;
};

static struct plain plains[MOST];

static bool may(const struct plain *of)
{
    for (struct plain *at = plains; at < plains + MOST; at++)
        if (at->id != 0 && at->order == of->order && !at->admitted && at->number < of->number)
            return false;
    return true;
}

static void act(struct cluster_order *order, struct plain *at, struct hub_random *random)
{
    struct cluster_order_call call = {key, 1 + hub_random_below(random, 6),
                                      (uint64_t)(at - plains)};

    if (at->id == 0) {
        call.key.order = 1 + (uint32_t)hub_random_below(random, 2);
        *at = (struct plain){cluster_order_add(order, &call), call.number, call.key.order, false,
                             false};
        return;
    }
    assert_int_equal(cluster_order_may(order, at->id), may(at));
    if (at->admitted && hub_random_below(random, 2) == 0) {
        cluster_order_lose(order, at->id);
        at->admitted = false;
    } else if (at->admitted || hub_random_below(random, 6) == 0) {
        cluster_order_end(order, at->id);
        *at = (struct plain){0};
    } else if (may(at)) {
        cluster_order_admit(order, at->id);
        at->admitted = true;
        at->waits = false;
    } else {
        cluster_order_wait(order, at->id, false);
        at->waits = true;
    }
}

/* r[verify cluster.order.admit] */
static void in_random_orders_each_waits_for_those_before_it(void **state)
{
    struct cluster_order *order = open_order();
    struct hub_random random;
    uint64_t subject;

    (void)state;
    hub_random_init(&random, 7);
    for (int i = 0; i < 200000; i++) {
        act(order, &plains[hub_random_below(&random, MOST)], &random);
        while (cluster_order_take(order, &subject)) {
            assert_true(plains[subject].waits && may(&plains[subject]));
            plains[subject].waits = false;
        }
        for (struct plain *at = plains; at < plains + MOST; at++)
            assert_false(at->waits && may(at));
    }
    cluster_order_release(&order);
}

/* r[verify cluster.peer.order] */
static void a_call_knows_the_one_before_it(void **state)
{
    struct cluster_order *order = open_order();
    uint64_t third = add(order, 9), first = add(order, 4), twin = add(order, 9);

    (void)state;
    assert_int_equal(cluster_order_previous(order, first), 0);
    assert_int_equal(cluster_order_previous(order, third), 4);
    assert_int_equal(cluster_order_previous(order, twin), 4);
    cluster_order_end(order, first);
    assert_int_equal(cluster_order_previous(order, twin), 0);
    cluster_order_release(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_may_be_admitted_after_all_before_it),
        cmocka_unit_test(orders_do_not_wait_for_each_other),
        cmocka_unit_test(a_call_that_waits_is_taken_in_its_turn),
        cmocka_unit_test(lost_calls_are_admitted_again_in_the_order),
        cmocka_unit_test(one_more_than_there_may_be_is_not_added),
        cmocka_unit_test(a_call_knows_the_one_before_it),
        cmocka_unit_test(in_random_orders_each_waits_for_those_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
