/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/control/rights.h"
#include "tests/support/testing.h"

static int check(enum rapahub_control_role role, enum host_frame_kind kind, const char *name)
{
    const union host_frame_record record = {.name = {rapahub_string_of(name)}};

    return host_rights_check(role, kind, &record);
}

/* r[verify sec.control.role] */
static void each_request_takes_a_role(void **state)
{
    static const enum host_frame_kind looks[] = {HOST_FRAME_LIST, HOST_FRAME_METHODS,
                                                 HOST_FRAME_LOGS, HOST_FRAME_STATS,
                                                 HOST_FRAME_TREE, HOST_FRAME_CANCEL},
                                      changes[] = {HOST_FRAME_CALL, HOST_FRAME_STOP,
                                                   HOST_FRAME_KILL, HOST_FRAME_RESTART};

    (void)state;
    assert_int_equal(sizeof looks / sizeof *looks + sizeof changes / sizeof *changes + 1,
                     HOST_FRAME_REQUESTS);
    for (unsigned i = 0; i < sizeof looks / sizeof *looks; i++)
        assert_int_equal(check(RAPAHUB_CONTROL_VIEWER, looks[i], "calc"), 0);
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_int_equal(check(RAPAHUB_CONTROL_VIEWER, changes[i], "calc"), RAPAHUB_EACCES);
        assert_int_equal(check(RAPAHUB_CONTROL_OPERATOR, changes[i], "calc"), 0);
    }
    assert_int_equal(check(RAPAHUB_CONTROL_OPERATOR, HOST_FRAME_STOP, ""), RAPAHUB_EACCES);
    assert_int_equal(check(RAPAHUB_CONTROL_ADMIN, HOST_FRAME_STOP, ""), 0);
    assert_int_equal(check(RAPAHUB_CONTROL_OPERATOR, HOST_FRAME_UPGRADE, "calc"), RAPAHUB_EACCES);
    assert_string_equal(rapahub_last_error()->text,
                        "that takes an admin; you are an operator of this host");
    assert_string_equal(rapahub_last_error()->rule, "sec.control.role");
    assert_int_equal(check(RAPAHUB_CONTROL_ADMIN, HOST_FRAME_UPGRADE, "calc"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_takes_a_role),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
