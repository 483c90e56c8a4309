/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/supervise.h>

#include "tests/support/testing.h"

static const struct rapahub_report plain = {.name = "calc",
                                            .module = "/lib/calc.so",
                                            .state = "ready",
                                            .step = "",
                                            .rule = "",
                                            .cause = "signal SIGKILL",
                                            .decision = ""};

static bool prints(const struct rapahub_report *report, const char *part)
{
    char text[1024];

    assert_true(rapahub_report_print(report, text, sizeof text) < sizeof text);
    return strstr(text, part) != NULL;
}

/* Unknown members of a report are not named. */
static void rule_build_id_and_step_are_named_where_there_are_any(void **state)
{
    struct rapahub_report report = plain;

    (void)state;
    assert_true(prints(&report, "calc: ended ready: signal SIGKILL after "));
    assert_false(prints(&report, "rule"));
    assert_false(prints(&report, "build id"));
    assert_false(prints(&report, "its start failed"));
    report.rule = "shm.ring.capacity";
    memcpy(report.build_id, "c0ffee", 7);
    report.step = "exec";
    report.failure = -2;
    assert_true(prints(&report, "signal SIGKILL, rule shm.ring.capacity after "));
    assert_true(prints(&report, "module /lib/calc.so, build id c0ffee\n"));
    assert_true(prints(&report, "its start failed at the step exec, with -2\n"));
}

/* The size that is asked for is told, and what fits is written. */
static void a_text_that_does_not_fit_is_cut(void **state)
{
    char small[8] = "xxxxxxx", whole[1024];
    size_t size = rapahub_report_print(&plain, whole, sizeof whole);

    (void)state;
    assert_int_equal(size, strlen(whole));
    assert_int_equal(rapahub_report_print(&plain, small, sizeof small), size);
    assert_string_equal(small, "calc: e");
    assert_int_equal(rapahub_report_print(&plain, NULL, 0), size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_build_id_and_step_are_named_where_there_are_any),
        cmocka_unit_test(a_text_that_does_not_fit_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
