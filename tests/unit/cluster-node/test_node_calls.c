/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/node/calls/node_calls.h"
#include "tests/support/testing.h"

#define MOST    8
#define SESSION 77

static struct cluster_node_call *add(struct cluster_node_calls *calls, uint64_t number,
                                     uint32_t container, bool own)
{
    return cluster_node_calls_add(
        calls, &(struct cluster_node_call){.uid = {own ? SESSION : SESSION + 1, number},
                                           .pool = 1,
                                           .container = container,
                                           .own = own});
}

static struct cluster_node_calls *node_calls(void)
{
    struct cluster_node_calls *calls;

    assert_int_equal(cluster_node_calls_create(MOST, 5, &calls), 0);
    return calls;
}

static void a_call_is_found_by_its_number_and_by_its_uid(void **state)
{
    struct cluster_node_calls *calls = node_calls();
    struct cluster_node_call *first = add(calls, 1, 0, true), *second = add(calls, 2, 0, true);
    uint64_t number = first->number;

    (void)state;
    assert_ptr_equal(cluster_node_calls_find(calls, number), first);
    assert_ptr_equal(cluster_node_calls_of_uid(calls, (struct cluster_uid){SESSION, 2}), second);
    assert_null(cluster_node_calls_of_uid(calls, (struct cluster_uid){SESSION, 3}));
    cluster_node_calls_remove(calls, first);
    assert_null(cluster_node_calls_find(calls, number));
    assert_null(cluster_node_calls_of_uid(calls, (struct cluster_uid){SESSION, 1}));
    assert_true(add(calls, 3, 0, true)->number != number);
    cluster_node_calls_release(&calls);
}

static void note_root(void *user, const struct cluster_node_call *call)
{
    *(uint64_t *)user = call->root;
}

static const struct cluster_node_calls_hooks hooks = {note_root};

/* r[verify cluster.call.nested] */
static void a_call_is_its_own_root_unless_it_serves_another(void **state)
{
    struct cluster_node_calls *calls = node_calls();
    struct cluster_node_call *root = add(calls, 1, 0, true), *inner;
    uint64_t number = root->number, removed = 0;

    (void)state;
    cluster_node_calls_watch(calls, &hooks, &removed);
    inner = cluster_node_calls_add(
        calls, &(struct cluster_node_call){.uid = {9, 1}, .again = true, .root = number});
    assert_int_equal(root->root, number);
    assert_int_equal(inner->root, number);
    cluster_node_calls_remove(calls, inner);
    assert_int_equal(removed, number);
    removed = 0;
    cluster_node_calls_remove(calls, root);
    assert_int_equal(removed, number);
    cluster_node_calls_release(&calls);
}

static void one_call_too_many_is_refused(void **state)
{
    struct cluster_node_calls *calls = node_calls();

    (void)state;
    for (uint64_t i = 1; i <= MOST; i++)
        assert_non_null(add(calls, i, 0, true));
    assert_null(add(calls, MOST + 1, 0, true));
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EBUSY);
    assert_int_equal(cluster_node_calls_count(calls), MOST);
    cluster_node_calls_release(&calls);
}

/* r[verify cluster.node.ended] */
static void the_least_open_number_of_a_container_is_told(void **state)
{
    struct cluster_node_calls *calls = node_calls();
    struct cluster_node_call *one = add(calls, 1, 4, true), *two = add(calls, 2, 4, true);
    struct cluster_node_call *several, *three;

    (void)state;
    (void)add(calls, 1, 4, false); /* another origin's number says nothing */
    assert_int_equal(cluster_node_calls_done_below(calls, two), 1);
    cluster_node_calls_remove(calls, one);
    assert_int_equal(cluster_node_calls_done_below(calls, two), 2);
    several = add(calls, 3, CLUSTER_NODE_CALLS_SEVERAL, true);
    three = add(calls, 4, 4, true);
    assert_int_equal(cluster_node_calls_done_below(calls, several), 0);
    assert_int_equal(cluster_node_calls_done_below(calls, three), 2);
    cluster_node_calls_remove(calls, two);
    assert_int_equal(cluster_node_calls_done_below(calls, three), 3);
    cluster_node_calls_remove(calls, several);
    assert_int_equal(cluster_node_calls_done_below(calls, three), 4);
    cluster_node_calls_release(&calls);
}

static void note(void *user, const struct cluster_node_call *call,
                 const struct rapahub_raw_answer *answer)
{
    (void)call;
    *(int *)user = answer->status;
}

static void the_end_of_a_call_is_told_once(void **state)
{
    static const struct cluster_node_calls_caller caller = {.answer = note};
    struct cluster_node_calls *calls = node_calls();
    int status = 0;
    struct cluster_node_call *call = cluster_node_calls_add(
        calls,
        &(struct cluster_node_call){.uid = {SESSION, 1}, .caller = &caller, .user = &status});

    (void)state;
    cluster_node_calls_end(calls, call, &(struct rapahub_raw_answer){.status = RAPAHUB_EMAYBE});
    assert_int_equal(status, RAPAHUB_EMAYBE);
    assert_int_equal(cluster_node_calls_count(calls), 0);
    cluster_node_calls_release(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_found_by_its_number_and_by_its_uid),
        cmocka_unit_test(a_call_is_its_own_root_unless_it_serves_another),
        cmocka_unit_test(one_call_too_many_is_refused),
        cmocka_unit_test(the_least_open_number_of_a_container_is_told),
        cmocka_unit_test(the_end_of_a_call_is_told_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
