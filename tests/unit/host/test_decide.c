/* SPDX-License-Identifier: Apache-2.0 */
#include "host/decide.h"
#include "tests/support/testing.h"

/* r[verify supervise.failed.told] */
static void each_reason_of_a_last_end_has_its_words(void **state)
{
    (void)state;
    assert_string_equal(host_decide_reason(HOST_FAILED_BUDGET), "");
    assert_string_equal(host_decide_reason(HOST_FAILED_STATUS), ", which is one of prevent_exit");
    assert_string_equal(host_decide_reason(HOST_FAILED_OOM), ", and its oom_policy is to stop");
    assert_string_equal(host_decide_reason(HOST_FAILED_BARRED),
                        ", and its finish command ended with status 125");
    assert_string_equal(host_decide_reason(HOST_FAILED_ABOVE), ", and its supervisor has failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_of_a_last_end_has_its_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
