/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/target/target.h"
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
    assert_name("host/calc.flip({x: f64}) -> f64", "host/calc", 0, "flip({x: f64}) -> f64");
    assert_name("calc.so(bytes)", "calc", 0, "so(bytes)");
    assert_name("calc#0.add", "calc", 0, "add");
    assert_name("calc#9.add", "calc", 9, "add");
    assert_name("calc#4294967295.add", "calc", UINT32_MAX, "add");
}

static void a_name_and_a_path_fit_or_are_refused(void **state)
{
    static char text[2 * sizeof(struct cli_target)];
    struct cli_target target;
    const size_t name = sizeof target.name - 1, file = sizeof target.file - 1;

    (void)state;
    memset(text, 'n', sizeof text);
    memcpy(text + name, ".m", 3);
    assert_int_equal(cli_target_parse(text, &target), 0);
    assert_int_equal(strlen(target.name), name);
    memcpy(text + name, "n.m", 4);
    assert_int_equal(cli_target_parse(text, &target), RAPAHUB_ECONFIG);
    memset(text, '/', sizeof text);
    memcpy(text + file, ":m", 3);
    assert_int_equal(cli_target_parse(text, &target), 0);
    assert_int_equal(strlen(target.file), file);
    memcpy(text + file, "/:m", 4);
    assert_int_equal(cli_target_parse(text, &target), RAPAHUB_ECONFIG);
    assert_string_equal(rapahub_last_error()->text, "the path is too long");
}

static void anything_else_is_refused(void **state)
{
    static const char *const bad[] = {
        "",           "calc",       ".add",        "calc.",
        "calc#.add",  "calc#x.add", "calc#-1.add", "calc#1x.add",
        "calc#/.add", "calc#:.add", "a.so:",       "calc#4294967296.add"};
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
        cmocka_unit_test(a_name_and_a_path_fit_or_are_refused),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
