/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/program.h"
#include "tests/support/testing.h"

static void the_program_of_guests_may_be_chosen(void **state)
{
    char long_path[CLI_PROGRAM_PATH + 1], path[CLI_PROGRAM_PATH];

    (void)state;
    assert_int_equal(setenv("RAPAHUB_GUEST", "/bin/guest", 1), 0);
    assert_int_equal(cli_program_guest(path), 0);
    assert_string_equal(path, "/bin/guest");
    memset(long_path, 'x', sizeof long_path);
    long_path[CLI_PROGRAM_PATH] = '\0';
    assert_int_equal(setenv("RAPAHUB_GUEST", long_path, 1), 0);
    assert_int_equal(cli_program_guest(path), RAPAHUB_ECONFIG);
    long_path[CLI_PROGRAM_PATH - 1] = '\0';
    assert_int_equal(setenv("RAPAHUB_GUEST", long_path, 1), 0);
    assert_int_equal(cli_program_guest(path), 0);
    assert_string_equal(path, long_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_of_guests_may_be_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
