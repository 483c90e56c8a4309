/* SPDX-License-Identifier: Apache-2.0 */
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/socket/role.h"
#include "tests/support/testing.h"

static void a_group_is_found_by_name_and_by_number(void **state)
{
    const struct group *entry = getgrgid(0);
    gid_t found = 7;

    (void)state;
    assert_int_equal(host_role_find_group("4711", &found), 0);
    assert_int_equal(found, 4711);
    if (!entry)
        skip();
    assert_int_equal(host_role_find_group(entry->gr_name, &found), 0);
    assert_int_equal(found, 0);
}

static void what_is_no_group_is_refused(void **state)
{
    static const char *const wrong[] = {"",           "no such group",       "12x", "-1", " 5",
                                        "4294967295", "99999999999999999999"};
    gid_t found;

    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(host_role_find_group(wrong[i], &found), RAPAHUB_ENOENT);
    assert_int_equal(host_role_find_group("65534", &found), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_found_by_name_and_by_number),
        cmocka_unit_test(what_is_no_group_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
