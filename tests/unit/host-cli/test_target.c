/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/cli/target.h"
#include "tests/support/testing.h"

static void assert_file(const char *text, const char *file, const char *method)
{
    struct cli_target target;

    assert_int_equal(cli_target_parse(text, &target), 0);
    assert_true(target.is_file);
    assert_string_equal(target.file, file);
    assert_string_equal(target.method, method);
}

static void assert_name(const char *text, const char *name, uint32_t container, const char *method)
{
    struct cli_target target;

    assert_int_equal(cli_target_parse(text, &target), 0);
    assert_false(target.is_file);
    assert_string_equal(target.name, name);
    assert_int_equal(target.container, container);
    assert_string_equal(target.method, method);
}

static void a_path_and_a_colon_is_a_file(void **state)
{
    (void)state;
    assert_file("build/calc.so:add", "build/calc.so", "add");
    assert_file("calc.so:add", "calc.so", "add");
    assert_file("/lib/libz.so.1:crc32(u64, bytes) -> u64", "/lib/libz.so.1",
                "crc32(u64, bytes) -> u64");
    assert_file("./m.so:flip({x: f64}) -> {x: f64}", "./m.so", "flip({x: f64}) -> {x: f64}");
}

static void a_name_and_a_dot_is_a_guest(void **state)
{
    (void)state;
    assert_name("calc.add", "calc", 0, "add");
    assert_name("calc-2#7.add", "calc-2", 7, "add");
    assert_name("host/calc.add", "host/calc", 0, "add");
    assert_name("calc.flip({x: f64}) -> f64", "calc", 0, "flip({x: f64}) -> f64");
}

static void anything_else_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "calc",
                                      ".add",
                                      "calc.",
                                      "calc#.add",
                                      "calc#x.add",
                                      "calc#-1.add",
                                      "a.so:",
                                      "calc#4294967296.add"};
    struct cli_target target;

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cli_target_parse(bad[i], &target), RAPAHUB_ECONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_and_a_colon_is_a_file),
        cmocka_unit_test(a_name_and_a_dot_is_a_guest),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
