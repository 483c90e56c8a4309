/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/owner/verdict.h"
#include "tests/support/testing.h"

static void a_failure_is_given_as_it_was_taken(void **state)
{
    struct host_verdict verdict;

    (void)state;
    host_verdict_take(&verdict, rapahub_fail(RAPAHUB_EFULL, "shm.slot.free", "no %s", "room"));
    rapahub_fail(RAPAHUB_EINVAL, "", "another");
    assert_int_equal(host_verdict_give(&verdict), RAPAHUB_EFULL);
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_EFULL);
    assert_string_equal(rapahub_last_error()->text, "no room");
    assert_string_equal(rapahub_last_error()->rule, "shm.slot.free");
}

static void an_error_of_a_method_stays_one(void **state)
{
    struct host_verdict verdict;

    (void)state;
    host_verdict_take(&verdict, rapahub_fail_application(-7, "mine"));
    rapahub_clear_error();
    assert_int_equal(host_verdict_give(&verdict), RAPAHUB_EAPPLICATION);
    assert_int_equal(rapahub_last_error()->application, -7);
    assert_string_equal(rapahub_last_error()->text, "mine");
}

static void a_code_without_a_text_gets_one(void **state)
{
    struct host_verdict verdict;

    (void)state;
    rapahub_fail(RAPAHUB_EINVAL, "", "of something else");
    host_verdict_take(&verdict, RAPAHUB_EFULL);
    assert_int_equal(host_verdict_give(&verdict), RAPAHUB_EFULL);
    assert_string_equal(rapahub_last_error()->text, rapahub_error_text(RAPAHUB_EFULL));
}

static void a_success_writes_nothing(void **state)
{
    const struct host_verdict verdict = {.code = 3};

    (void)state;
    rapahub_fail(RAPAHUB_EINVAL, "", "before");
    assert_int_equal(host_verdict_give(&verdict), 3);
    assert_string_equal(rapahub_last_error()->text, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_given_as_it_was_taken),
        cmocka_unit_test(an_error_of_a_method_stays_one),
        cmocka_unit_test(a_code_without_a_text_gets_one),
        cmocka_unit_test(a_success_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
