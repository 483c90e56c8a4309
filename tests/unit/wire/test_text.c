/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/signature.h"
#include "hub/wire/text.h"
#include "tests/support/testing.h"

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

struct entry {
    struct rapahub_string name;
    struct rapahub_bytes data;
    struct point at;
    bool old;
    uint8_t level;
};
RAPAHUB_RECORD(entry, RAPAHUB_MEMBER(entry, name, string), RAPAHUB_MEMBER(entry, data, bytes),
               RAPAHUB_MEMBER(entry, at, point), RAPAHUB_MEMBER(entry, old, bool),
               RAPAHUB_MEMBER(entry, level, u8));

/* Any value of these tests. */
union value {
    struct entry entry;
    struct rapahub_string string;
    struct rapahub_bytes bytes;
    bool flag;
    uint64_t number;
};

static int parse(const struct rapahub_type *type, const char *text, union value *value,
                 struct hub_text_arena *arena)
{
    return hub_text_parse(type, text, strlen(text), value, arena);
}

/* Reads `text` and prints it again, as text or as JSON. */
static char *print(const struct rapahub_type *type, const char *text, bool json)
{
    struct hub_text_arena arena = {NULL};
    union value value;
    char *printed;

    if (parse(type, text, &value, &arena) < 0)
        fail_msg("%s: %s", text, rapahub_last_error()->text);
    printed = json ? hub_text_json(type, &value) : hub_text_print(type, &value);
    assert_non_null(printed);
    hub_text_arena_fini(&arena);
    return printed;
}

static void values_print_as_they_are_typed(void **state)
{
    static const struct {
        const struct rapahub_type *type;
        const char *typed, *printed;
    } cases[] = {
        {&rapahub_type_i64, "-12", "-12"},
        {&rapahub_type_u8, "0xff", "255"},
        {&rapahub_type_f32, "1.50", "1.5"},
        {&rapahub_type_bool, "true", "true"},
        {&rapahub_type_bool, "false", "false"},
        {&rapahub_type_void, "", ""},
        {&rapahub_type_string, "as \"typed\", {all of it}", "as \"typed\", {all of it}"},
        {&rapahub_type_string, "", ""},
        {&rapahub_type_bytes, "plain text\n", "plain text\n"},
        {&rapahub_type_bytes, "", ""},
        {&rapahub_type_bytes, "hex:00fF", "hex:00ff"},
        {&rapahub_type_bytes, "hex:6869", "hi"},
        {&rapahub_type_bytes, "hex:6865783a", "hex:6865783a"},
        {&rapahub_type_point, "{x: 1.5, y: 2}", "{x: 1.5, y: 2}"},
        {&rapahub_type_point, " { y : 2 , x:inf } ", "{x: inf, y: 2}"},
        {&rapahub_type_entry,
         "{name: \"a\\\"\\\\\\n\\t\\x01\", data: \"\\xff\", at: {x: 1, y: 2}, old: true, level: 7}",
         "{name: \"a\\\"\\\\\\n\\t\\x01\", data: hex:ff, at: {x: 1, y: 2}, old: true, level: 7}"},
        {&rapahub_type_entry,
         "{level: 7, data: hex:61, old: false, at: {x: 1, y: 2}, name: \" b \"}",
         "{name: \" b \", data: \"a\", at: {x: 1, y: 2}, old: false, level: 7}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *printed = print(cases[i].type, cases[i].typed, false), *again;

        assert_string_equal(printed, cases[i].printed);
        again = print(cases[i].type, printed, false);
        assert_string_equal(again, printed);
        free(printed);
        free(again);
    }
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const struct rapahub_type *type;
        const char *typed, *expected;
    } cases[] = {
        {&rapahub_type_i64, "x", "'x' is no i64"},
        {&rapahub_type_bool, "yes", "'yes' is no bool"},
        {&rapahub_type_void, "x", "'x' is no void"},
        {&rapahub_type_string, "\xff", "not UTF-8"},
        {&rapahub_type_bytes, "hex:0", "'0' is no row of hexadecimal digits"},
        {&rapahub_type_bytes, "hex:0g", "'0g' is no row of hexadecimal digits"},
        {&rapahub_type_point, "", "column 1: '{' is expected"},
        {&rapahub_type_point, "{", "column 2: the record has no such member"},
        {&rapahub_type_point, "{x}", "column 3: ':' is expected"},
        {&rapahub_type_point, "{x: 1}", "member 'y' is missing"},
        {&rapahub_type_point, "{x: 1, z: 1}", "column 8: the record has no such member"},
        {&rapahub_type_point, "{x: 1, x: 1}", "column 8: that member is there already"},
        {&rapahub_type_point, "{x: 1 y: 1}", "column 7: ',' or '}' is expected"},
        {&rapahub_type_point, "{x: a, y: 1}", "'a' is no f64"},
        {&rapahub_type_point, "{x: 1, y: 1} 2", "column 14: the end is expected"},
        {&rapahub_type_entry, "{name: a", "column 8: a text in quotation marks is expected"},
        {&rapahub_type_entry, "{name: \"a", "column 8: the quotation mark has no end"},
        {&rapahub_type_entry, "{name: \"a\\q\"}", "column 10: no such escape"},
        {&rapahub_type_entry, "{name: \"\\x0\"}", "column 9: no such escape"},
        {&rapahub_type_entry, "{name: \"\\", "column 9: no such escape"},
        {&rapahub_type_entry, "{name: \"\\xff\"}", "column 8: the string is not UTF-8"},
        {&rapahub_type_entry, "{data: hex:0}", "'0' is no row of hexadecimal digits"},
        {&rapahub_type_entry, "{level: 256}", "'256' is no u8"},
        {&rapahub_type_entry, "{at: 1}", "column 6: '{' is expected"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hub_text_arena arena = {NULL};
        union value value;

        assert_int_equal(parse(cases[i].type, cases[i].typed, &value, &arena), -EINVAL);
        if (!strstr(rapahub_last_error()->text, cases[i].expected))
            fail_msg("%s: %s", cases[i].typed, rapahub_last_error()->text);
        hub_text_arena_fini(&arena);
    }
}

static void views_show_the_arena_and_not_the_text(void **state)
{
    struct hub_text_arena arena = {NULL};
    char text[] = "hello";
    union value value;

    (void)state;
    assert_int_equal(parse(&rapahub_type_string, text, &value, &arena), 0);
    memset(text, 'x', sizeof(text) - 1);
    assert_memory_equal(value.string.data, "hello", 5);
    hub_text_arena_fini(&arena);
    assert_null(arena.blocks);
    hub_text_arena_fini(&arena);
}

static void json_has_its_own_rules(void **state)
{
    static const struct {
        const struct rapahub_type *type;
        const char *typed, *json;
    } cases[] = {
        {&rapahub_type_u64, "18446744073709551615", "18446744073709551615"},
        {&rapahub_type_f64, "0.1", "0.1"},
        {&rapahub_type_f64, "1e300", "1e+300"},
        {&rapahub_type_f64, "inf", "\"inf\""},
        {&rapahub_type_f64, "-inf", "\"-inf\""},
        {&rapahub_type_f64, "nan", "\"nan\""},
        {&rapahub_type_bool, "true", "true"},
        {&rapahub_type_string, "a\"\\\n\x01 \x7f\xc3\xa9",
         "\"a\\\"\\\\\\u000a\\u0001 \\u007f\xc3\xa9\""},
        {&rapahub_type_bytes, "", "\"\""},
        {&rapahub_type_bytes, "M", "\"TQ==\""},
        {&rapahub_type_bytes, "Ma", "\"TWE=\""},
        {&rapahub_type_bytes, "Man", "\"TWFu\""},
        {&rapahub_type_bytes, "hex:fffefdfbff", "\"//79+/8=\""},
        {&rapahub_type_point, "{x: 1.5, y: nan}", "{\"x\": 1.5, \"y\": \"nan\"}"},
        {&rapahub_type_void, "", "{}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *json = print(cases[i].type, cases[i].typed, true);

        assert_string_equal(json, cases[i].json);
        free(json);
    }
}

static void json_is_utf8_whatever_a_string_holds(void **state)
{
    const struct rapahub_string string = {"a\xff", 2};
    char *json = hub_text_json(&rapahub_type_string, &string);

    (void)state;
    assert_string_equal(json, "\"a\\ufffd\"");
    free(json);
}

static void a_type_of_text_can_be_read_too(void **state)
{
    struct hub_text_arena arena = {NULL};
    struct hub_signature *signature;
    union value value;
    char *printed;

    (void)state;
    assert_int_equal(hub_signature_parse("f({a: u8, b: {c: string}})", &signature), 0);
    assert_int_equal(parse(signature->types[1], "{a: 1, b: {c: \"x\"}}", &value, &arena), 0);
    printed = hub_text_print(signature->types[1], &value);
    assert_string_equal(printed, "{a: 1, b: {c: \"x\"}}");
    free(printed);
    hub_text_arena_fini(&arena);
    hub_signature_release(&signature);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_print_as_they_are_typed),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(views_show_the_arena_and_not_the_text),
        cmocka_unit_test(json_has_its_own_rules),
        cmocka_unit_test(json_is_utf8_whatever_a_string_holds),
        cmocka_unit_test(a_type_of_text_can_be_read_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
