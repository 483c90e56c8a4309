/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/registry/methods.h"
#include "tests/support/testing.h"

static struct host_methods *of(const char *lines)
{
    struct host_methods *methods = host_methods_create();

    assert_non_null(methods);
    assert_int_equal(host_methods_add_lines(methods, rapahub_string_of(lines)), 0);
    return methods;
}

static void assert_text(int r, int code, const char *text)
{
    assert_int_equal(r, code);
    assert_string_equal(rapahub_last_error()->text, text);
}

static void lines_become_signatures(void **state)
{
    struct host_methods *methods = of("add(i64, i64) -> i64\nnap(u32) -> void\nlast() -> i8");

    (void)state;
    assert_int_equal(methods->count, 3);
    assert_string_equal(host_methods_of_name(methods, "nap")->text, "nap(u32) -> void");
    assert_ptr_equal(host_methods_of_id(methods, methods->list[2]->id), methods->list[2]);
    assert_null(host_methods_of_name(methods, "na"));
    assert_null(host_methods_of_id(methods, 1));
    host_methods_release(&methods);
}

static void a_line_that_is_no_signature_is_refused(void **state)
{
    static const char *const bad[] = {"add(i64", "\n", "add", "add(i64) -> i64\n??\n"};
    struct host_methods *methods;
    char long_line[1100];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        methods = host_methods_create();
        assert_int_equal(host_methods_add_lines(methods, rapahub_string_of(bad[i])),
                         RAPAHUB_EFORMAT);
        host_methods_release(&methods);
    }
    for (size_t i = 0; i < sizeof long_line; i++)
        long_line[i] = 'a';
    methods = host_methods_create();
    assert_int_equal(
        host_methods_add_lines(methods, (struct rapahub_string){long_line, sizeof long_line}),
        RAPAHUB_EFORMAT);
    assert_int_equal(host_methods_add_lines(methods, (struct rapahub_string){"a()\0b", 5}),
                     RAPAHUB_EFORMAT);
    host_methods_release(&methods);
}

static void more_than_the_most_is_refused(void **state)
{
    struct host_methods *methods = host_methods_create();

    (void)state;
    for (int i = 0; i < HOST_METHODS_MAX; i++)
        assert_int_equal(host_methods_add_lines(methods, rapahub_string_of("a()")), 0);
    assert_int_equal(host_methods_add_lines(methods, rapahub_string_of("a()")), RAPAHUB_EFULL);
    host_methods_release(&methods);
}

static void near_names_are_named(void **state)
{
    struct host_methods *methods = of("add(i64, i64) -> i64\nsubtract(i64, i64) -> i64");

    (void)state;
    assert_text(host_methods_refuse(methods, "calc", "ad"), RAPAHUB_ENOMETHOD,
                "calc has no method 'ad'; near: add(i64, i64) -> i64");
    assert_text(host_methods_refuse(methods, "calc", "dad"), RAPAHUB_ENOMETHOD,
                "calc has no method 'dad'; near: add(i64, i64) -> i64");
    assert_text(host_methods_refuse(methods, "calc", "subtrac() -> void"), RAPAHUB_ENOMETHOD,
                "calc has no method 'subtrac'; near: subtract(i64, i64) -> i64");
    assert_text(host_methods_refuse(methods, "calc", "multiply"), RAPAHUB_ENOMETHOD,
                "calc has no method 'multiply'");
    host_methods_release(&methods);
}

static void other_types_are_told(void **state)
{
    struct host_methods *methods = of("add(i64, i64) -> i64");

    (void)state;
    assert_text(host_methods_refuse(methods, "calc", "add(i64) -> i64"), RAPAHUB_EARGUMENTS,
                "add takes (i64, i64), (i64) given");
    assert_text(host_methods_refuse(methods, "calc", "add(i64, i64) -> i32"), RAPAHUB_EARGUMENTS,
                "the method is add(i64, i64) -> i64, not add(i64, i64) -> i32");
    host_methods_release(&methods);
}

static void the_last_holder_frees_it(void **state)
{
    struct host_methods *methods = of("a()"), *other = host_methods_hold(methods);

    (void)state;
    host_methods_release(&methods);
    assert_null(methods);
    assert_int_equal(other->count, 1);
    host_methods_release(&other);
    host_methods_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_signatures),
        cmocka_unit_test(a_line_that_is_no_signature_is_refused),
        cmocka_unit_test(more_than_the_most_is_refused),
        cmocka_unit_test(near_names_are_named),
        cmocka_unit_test(other_types_are_told),
        cmocka_unit_test(the_last_holder_frees_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
