/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/cli/target/methods.h"
#include "tests/support/testing.h"

static int find(const struct cli_texts *methods, const char *text, struct hub_signature **out)
{
    return cli_methods_find(methods, "calc", &(struct cli_methods_wanted){text, -1}, out);
}

static void of_one_name_the_one_with_so_many_arguments_is_meant(void **state)
{
    static const char *const texts[] = {"f(u8, u8) -> void", "f(u8) -> void", "f(i8) -> void"};
    struct cli_texts methods = {0};
    struct hub_signature *found;

    (void)state;
    for (int i = 0; i < 3; i++)
        cli_texts_add(&methods, texts[i]);
    for (int count = 0; count < 4; count++) {
        const struct cli_methods_wanted wanted = {"f", count};

        assert_int_equal(cli_methods_find(&methods, "m", &wanted, &found), 0);
        assert_string_equal(found->text, count == 1 ? texts[1] : texts[0]);
        hub_signature_release(&found);
    }
    cli_texts_fini(&methods);
}

static void fill(struct cli_texts *methods)
{
    *methods = (struct cli_texts){0};
    cli_texts_add(methods, "get(string) -> bytes");
    cli_texts_add(methods, "add(i64, i64) -> i64");
    cli_texts_add(methods, "add_all(bytes) -> void");
}

static void a_method_is_found_by_name_or_whole_signature(void **state)
{
    struct hub_signature *signature = NULL;
    struct cli_texts methods;

    (void)state;
    fill(&methods);
    assert_int_equal(find(&methods, "add", &signature), 0);
    assert_string_equal(signature->text, "add(i64, i64) -> i64");
    hub_signature_release(&signature);
    assert_int_equal(find(&methods, "add( i64,i64 )->i64", &signature), 0);
    hub_signature_release(&signature);
    cli_texts_fini(&methods);
}

static void a_name_that_is_not_there_names_the_nearest(void **state)
{
    struct hub_signature *signature = NULL;
    struct cli_texts methods;

    (void)state;
    fill(&methods);
    assert_int_equal(find(&methods, "ad", &signature), RAPAHUB_ENOMETHOD);
    assert_string_equal(rapahub_last_error()->text,
                        "calc has no method 'ad'; near: add(i64, i64) -> i64");
    assert_int_equal(find(&methods, "add(i32) -> i64", &signature), RAPAHUB_ENOMETHOD);
    assert_int_equal(find(&methods, "add(i32", &signature), RAPAHUB_EINVAL);
    cli_texts_fini(&methods);
    assert_int_equal(find(&methods, "add", &signature), RAPAHUB_ENOMETHOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_name_the_one_with_so_many_arguments_is_meant),
        cmocka_unit_test(a_method_is_found_by_name_or_whole_signature),
        cmocka_unit_test(a_name_that_is_not_there_names_the_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
