/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/node/calls/nested.h"
#include "tests/support/testing.h"

#define MOST 8
#define POOL (UINT64_C(256) << 32 | 1)

struct ended {
    uint64_t origins[MOST];
    unsigned count;
};

static void note(void *user, uint64_t origin)
{
    struct ended *ended = user;

    assert_true(ended->count < MOST);
    ended->origins[ended->count++] = origin;
}

static const struct cluster_nested_hooks hooks = {note};

static struct cluster_nested *nested(struct ended *ended)
{
    struct cluster_nested *nested;

    *ended = (struct ended){.count = 0};
    assert_int_equal(cluster_nested_create(MOST, 3, &hooks, ended, &nested), 0);
    return nested;
}

static struct cluster_nested_run run_of(uint64_t number, uint32_t container, uint64_t root)
{
    return (struct cluster_nested_run){
        .uid = {77, number}, .pool = POOL, .container = container, .again = true, .root = root};
}

static uint32_t begin(struct cluster_nested *nested, struct cluster_nested_run run,
                      struct cluster_uid *uid)
{
    struct cluster_uid unheard;

    return cluster_nested_begin(nested, &run, uid ? uid : &unheard);
}

static struct cluster_uid name(struct cluster_nested *nested, uint32_t place, bool root_is_open)
{
    struct cluster_uid uid = {0, 0};

    assert_int_equal(cluster_nested_name(nested, place, root_is_open, &uid), 0);
    assert_true(cluster_ids_is_uid(uid) && !cluster_ids_is_client(uid.origin));
    return uid;
}

static bool equal(struct cluster_uid a, struct cluster_uid b)
{
    return a.origin == b.origin && a.number == b.number;
}

/* r[verify cluster.call.nested] */
static void a_call_that_runs_again_names_its_calls_as_before(void **state)
{
    struct ended ended;
    struct cluster_nested *one = nested(&ended), *later;
    uint32_t place = begin(one, run_of(5, 2, 9), NULL);
    struct cluster_uid first = name(one, place, true), second = name(one, place, true);
    struct ended unheard;

    (void)state;
    assert_false(equal(first, second));
    assert_int_equal(first.origin, second.origin);
    assert_true(second.number > first.number); /* calls of an order keep it */
    later = nested(&unheard);
    place = begin(later, run_of(5, 2, 1), NULL);
    assert_true(equal(name(later, place, true), first));
    assert_true(equal(name(later, place, true), second));
    cluster_nested_release(&later);
    cluster_nested_release(&one);
}

static void other_calls_and_other_containers_have_other_names(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);
    struct cluster_nested_run other = run_of(5, 2, 9);
    struct cluster_uid names[4];

    (void)state;
    names[0] = name(all, begin(all, other, NULL), true);
    names[1] = name(all, begin(all, run_of(5, 3, 9), NULL), true);
    names[2] = name(all, begin(all, run_of(6, 2, 9), NULL), true);
    other.pool++;
    names[3] = name(all, begin(all, other, NULL), true);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < i; j++)
            assert_true(names[i].origin != names[j].origin);
    cluster_nested_release(&all);
}

/* r[verify cluster.call.nested] */
static void an_origin_ends_when_root_and_run_have_ended(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);
    uint32_t a = begin(all, run_of(1, 0, 9), NULL), b = begin(all, run_of(2, 0, 9), NULL);
    uint32_t c = begin(all, run_of(3, 0, 8), NULL);
    struct cluster_uid of_a = name(all, a, true), of_b = name(all, b, true);
    struct cluster_uid of_c = name(all, c, true);

    (void)state;
    cluster_nested_end(all, a);
    assert_int_equal(ended.count, 0);
    cluster_nested_root_ended(all, 9); /* b still runs, and may make more calls */
    assert_int_equal(ended.count, 1);
    assert_int_equal(ended.origins[0], of_a.origin);
    assert_int_equal(name(all, b, false).origin, of_b.origin);
    cluster_nested_end(all, b);
    assert_int_equal(ended.count, 2);
    assert_int_equal(ended.origins[1], of_b.origin);
    cluster_nested_end(all, c);
    cluster_nested_root_ended(all, 9);
    cluster_nested_root_ended(all, 0);
    assert_int_equal(ended.count, 2);
    cluster_nested_root_ended(all, 8);
    assert_int_equal(ended.count, 3);
    assert_int_equal(ended.origins[2], of_c.origin);
    cluster_nested_release(&all);
}

static void a_run_that_makes_no_call_ends_no_origin(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);

    (void)state;
    for (unsigned i = 0; i < 3 * MOST; i++)
        cluster_nested_end(all, begin(all, run_of(1, 0, 9), NULL));
    cluster_nested_root_ended(all, 9);
    assert_int_equal(ended.count, 0);
    cluster_nested_release(&all);
}

static void a_root_that_had_ended_before_ends_the_origin_with_the_run(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);
    uint32_t place = begin(all, run_of(1, 0, 9), NULL);

    (void)state;
    (void)name(all, place, false);
    assert_int_equal(ended.count, 0);
    cluster_nested_end(all, place);
    assert_int_equal(ended.count, 1);
    cluster_nested_release(&all);
}

static void the_runs_of_one_call_are_told_apart(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);
    struct cluster_nested_run here = run_of(1, 0, 9), there = run_of(1, 1, 9);
    struct cluster_uid uids[2];
    uint32_t places[2];

    (void)state;
    here.several = there.several = true;
    places[0] = begin(all, here, &uids[0]);
    places[1] = begin(all, there, &uids[1]);
    assert_false(equal(uids[0], uids[1]));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cluster_nested_find(all, uids[i]), places[i]);
        assert_int_equal(cluster_nested_at(all, places[i])->container, i);
    }
    assert_int_equal(cluster_nested_find(all, here.uid), 0);
    cluster_nested_release(&all);
}

static void the_latest_run_of_a_uid_is_found(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);
    struct cluster_nested_run run = run_of(1, 0, 9);
    uint32_t first = begin(all, run, NULL), second = begin(all, run, NULL);

    (void)state;
    assert_int_equal(cluster_nested_find(all, run.uid), second);
    cluster_nested_end(all, second);
    assert_int_equal(cluster_nested_find(all, run.uid), first);
    cluster_nested_end(all, first);
    assert_int_equal(cluster_nested_find(all, run.uid), 0);
    cluster_nested_release(&all);
}

static void one_run_too_many_is_refused(void **state)
{
    struct ended ended;
    struct cluster_nested *all = nested(&ended);
    uint32_t last = 0;

    (void)state;
    for (unsigned i = 0; i < MOST; i++)
        last = begin(all, run_of(i + 1, 0, 9), NULL);
    assert_int_equal(begin(all, run_of(99, 0, 9), NULL), 0);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EBUSY);
    cluster_nested_end(all, last);
    assert_true(begin(all, run_of(99, 0, 9), NULL) != 0);
    cluster_nested_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_runs_again_names_its_calls_as_before),
        cmocka_unit_test(other_calls_and_other_containers_have_other_names),
        cmocka_unit_test(an_origin_ends_when_root_and_run_have_ended),
        cmocka_unit_test(a_run_that_makes_no_call_ends_no_origin),
        cmocka_unit_test(a_root_that_had_ended_before_ends_the_origin_with_the_run),
        cmocka_unit_test(the_runs_of_one_call_are_told_apart),
        cmocka_unit_test(the_latest_run_of_a_uid_is_found),
        cmocka_unit_test(one_run_too_many_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
