/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/tracer.h"
#include "tests/support/testing.h"

/* The name of the guest's main thread is in the first line, and may be anything but a line's end,
 * which the kernel writes as \n. r[verify supervise.watchdog.tracer] */
static void no_name_is_taken_for_a_tracer(void **state)
{
    (void)state;
    assert_int_equal(host_tracer_of("Name:\tsleep\nPid:\t7\nTracerPid:\t0\nUid:\t1\n"), 0);
    assert_int_equal(host_tracer_of("Name:\tsleep\nPid:\t7\nTracerPid:\t4711\nUid:\t1\n"), 4711);
    assert_int_equal(host_tracer_of("Name:\tTracerPid:1\nPid:\t7\nTracerPid:\t0\n"), 0);
    assert_int_equal(host_tracer_of("Name:\t\\nTracerPid:1\nPid:\t7\nTracerPid:\t0\n"), 0);
    assert_int_equal(host_tracer_of("Name:\tTracerPid:1\n"), 0);
    assert_int_equal(host_tracer_of("TracerPid:\t5"), 5);
    assert_int_equal(host_tracer_of("\n\nTracerPid:\t5\n"), 5);
    assert_int_equal(host_tracer_of(""), 0);
}

/* r[verify supervise.watchdog.tracer] */
static void whose_child_one_is_stands_behind_its_name(void **state)
{
    struct host_tracer_kin kin;

    (void)state;
    assert_true(host_tracer_kin("7 (sleep) S 4711 815 3 0 -1", &kin));
    assert_int_equal(kin.parent, 4711);
    assert_int_equal(kin.group, 815);
    assert_true(host_tracer_kin("7 () S 1 2 3) S 4711 815 3 0 -1", &kin));
    assert_int_equal(kin.parent, 4711);
    assert_int_equal(kin.group, 815);
    assert_false(host_tracer_kin("7 (sleep) S", &kin));
    assert_false(host_tracer_kin("", &kin));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_is_taken_for_a_tracer),
        cmocka_unit_test(whose_child_one_is_stands_behind_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
