/* SPDX-License-Identifier: Apache-2.0 */
/* How many children may start at once, and how many in a time. */
#include "host/supervise/pace.h"
#include "tests/support/testing.h"

#define EACH 10 /* ns */

/* r[verify supervise.start.pace] */
static void so_many_start_at_once_and_no_more(void **state)
{
    struct host_pace pace;

    (void)state;
    host_pace_init(&pace, 2, 3, 0);
    for (uint64_t now = 0; now < 20; now++) {
        assert_true(host_pace_allows(&pace, 0, now));
        assert_true(host_pace_allows(&pace, 1, now));
        assert_false(host_pace_allows(&pace, 2, now));
        assert_int_equal(host_pace_due(&pace), 0);
        host_pace_take(&pace, now);
    }
    assert_int_equal(pace.tokens, 3); /* without a time for each none is used up */
}

/* There are three tokens, and one grows in 10 ns. r[verify supervise.start.pace] */
static void who_has_used_all_up_waits_for_the_next_one(void **state)
{
    struct host_pace pace;

    (void)state;
    host_pace_init(&pace, 9, 3, EACH);
    for (int i = 0; i < 3; i++) {
        assert_true(host_pace_allows(&pace, 0, 100));
        assert_int_equal(host_pace_due(&pace), 0);
        host_pace_take(&pace, 100);
    }
    assert_false(host_pace_allows(&pace, 0, 100));
    assert_int_equal(host_pace_due(&pace), 110);
    assert_false(host_pace_allows(&pace, 0, 109));
    assert_true(host_pace_allows(&pace, 0, 110));
    assert_int_equal(host_pace_due(&pace), 0);
    host_pace_take(&pace, 110);
    assert_int_equal(host_pace_due(&pace), 120);
}

/* The part of a token that has grown is kept. r[verify supervise.start.pace] */
static void a_late_look_loses_nothing(void **state)
{
    struct host_pace pace;

    (void)state;
    host_pace_init(&pace, 9, 3, EACH);
    for (int i = 0; i < 3; i++)
        host_pace_take(&pace, 100);
    host_pace_take(&pace, 125); /* two have come back */
    assert_int_equal(pace.tokens, 1);
    host_pace_take(&pace, 125);
    assert_int_equal(host_pace_due(&pace), 130);
    host_pace_take(&pace, 125); /* there is none */
    assert_int_equal(pace.tokens, 0);
    assert_int_equal(host_pace_due(&pace), 130);
}

static void no_more_grow_than_there_is_room_for(void **state)
{
    struct host_pace pace;

    (void)state;
    host_pace_init(&pace, 9, 3, EACH);
    host_pace_take(&pace, 100);
    for (int i = 0; i < 3; i++)
        host_pace_take(&pace, 5000);
    assert_int_equal(pace.tokens, 0);
    assert_false(host_pace_allows(&pace, 0, 5000));
    assert_int_equal(host_pace_due(&pace), 5010);
}

/* A token of a full bucket grows from the first start on. */
static void a_full_one_grows_from_when_one_is_taken(void **state)
{
    struct host_pace pace;

    (void)state;
    host_pace_init(&pace, 9, 1, EACH);
    host_pace_take(&pace, 777);
    assert_int_equal(host_pace_due(&pace), 787);
    assert_false(host_pace_allows(&pace, 0, 786));
    assert_true(host_pace_allows(&pace, 0, 787));
    host_pace_take(&pace, 787);
    assert_false(host_pace_allows(&pace, 0, 500)); /* a clock that was set back */
    assert_int_equal(host_pace_due(&pace), 510);
    assert_true(host_pace_allows(&pace, 0, 510));
}

static void a_nanosecond_for_each_is_a_time(void **state)
{
    struct host_pace pace;

    (void)state;
    host_pace_init(&pace, 9, 2, 1);
    host_pace_take(&pace, 100);
    host_pace_take(&pace, 100);
    assert_false(host_pace_allows(&pace, 0, 100));
    assert_int_equal(host_pace_due(&pace), 101);
    assert_true(host_pace_allows(&pace, 0, 101));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_start_at_once_and_no_more),
        cmocka_unit_test(who_has_used_all_up_waits_for_the_next_one),
        cmocka_unit_test(a_late_look_loses_nothing),
        cmocka_unit_test(no_more_grow_than_there_is_room_for),
        cmocka_unit_test(a_nanosecond_for_each_is_a_time),
        cmocka_unit_test(a_full_one_grows_from_when_one_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
