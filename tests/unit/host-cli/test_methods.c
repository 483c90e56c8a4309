/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/cli/methods.h"
#include "tests/support/testing.h"

static void fill(struct cli_methods *methods)
{
    *methods = (struct cli_methods){0};
    cli_methods_add(methods, "get(string) -> bytes");
    cli_methods_add(methods, "add(i64, i64) -> i64");
    cli_methods_add(methods, "add_all(bytes) -> void");
}

static void a_method_is_found_by_name_or_whole_signature(void **state)
{
    struct hub_signature *signature = NULL;
    struct cli_methods methods;

    (void)state;
    fill(&methods);
    assert_int_equal(cli_methods_find(&methods, "calc", "add", &signature), 0);
    assert_string_equal(signature->text, "add(i64, i64) -> i64");
    hub_signature_release(&signature);
    assert_int_equal(cli_methods_find(&methods, "calc", "add( i64,i64 )->i64", &signature), 0);
    hub_signature_release(&signature);
    cli_methods_fini(&methods);
}

static void a_name_that_is_not_there_names_the_nearest(void **state)
{
    struct hub_signature *signature = NULL;
    struct cli_methods methods;

    (void)state;
    fill(&methods);
    assert_int_equal(cli_methods_find(&methods, "calc", "ad", &signature), RAPAHUB_ENOMETHOD);
    assert_string_equal(rapahub_last_error()->text,
                        "calc has no method 'ad'; near: add(i64, i64) -> i64");
    assert_int_equal(cli_methods_find(&methods, "calc", "add(i32) -> i64", &signature),
                     RAPAHUB_ENOMETHOD);
    assert_int_equal(cli_methods_find(&methods, "calc", "add(i32", &signature), RAPAHUB_EINVAL);
    cli_methods_fini(&methods);
    assert_int_equal(cli_methods_find(&methods, "calc", "add", &signature), RAPAHUB_ENOMETHOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_is_found_by_name_or_whole_signature),
        cmocka_unit_test(a_name_that_is_not_there_names_the_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
