/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
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

/* Bytes after the end of a text are not read: its value, or the error, is the same whatever they
 * are. */
static int parse_sized(const struct rapahub_type *type, const char *text, size_t size,
                       union value *value, struct hub_text_arena *arena)
{
    static const char behind[] = " 0\"}x,:";
    char *longer = calloc(1, size + 2), *said = NULL;
    int r = 0;

    assert_non_null(longer);
    memcpy(longer, text, size);
    for (const char *next = behind; *next; next++) {
        struct hub_text_arena other_arena = {NULL};
        union value other;
        int found;

        longer[size] = *next;
        found = hub_text_parse(type, longer, size, &other, &other_arena);
        if (next > behind)
            assert_int_equal(found, r);
        if (next > behind && r < 0)
            assert_string_equal(rapahub_last_error()->text, said);
        free(said);
        said = strdup(rapahub_last_error()->text);
        r = found;
        hub_text_arena_fini(&other_arena);
    }
    free(said);
    free(longer);
    return hub_text_parse(type, text, size, value, arena);
}

static int parse(const struct rapahub_type *type, const char *text, union value *value,
                 struct hub_text_arena *arena)
{
    return parse_sized(type, text, strlen(text), value, arena);
}

/* Reads `text` and prints it again, as text or as JSON. */
static char *print(const struct rapahub_type *type, const char *text, bool json)
{
    struct hub_text_arena arena = {NULL};
    union value value;
    char *printed;

    if (parse(type, text, &value, &arena) != 0)
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
        {&rapahub_type_bytes, "hex:0aA90F", "hex:0aa90f"},
        {&rapahub_type_bytes, "hex:", ""},
        {&rapahub_type_bytes, "hey:6869", "hey:6869"},
        {&rapahub_type_bytes, "hex", "hex"},
        {&rapahub_type_bytes, "hex:6865783a", "hex:6865783a"},
        {&rapahub_type_bytes, "hex:686578", "hex"},
        {&rapahub_type_bytes, "hex:6865783a41", "hex:6865783a41"},
        {&rapahub_type_bytes, "hex:617f", "hex:617f"},
        {&rapahub_type_point, "{x: 1.5, y: 2}", "{x: 1.5, y: 2}"},
        {&rapahub_type_point, " { y : 2 , x:inf } ", "{x: inf, y: 2}"},
        {&rapahub_type_entry,
         "{name: \"a\\\"\\\\\\n\\t\\x01\", data: \"\\xff\", at: {x: 1, y: 2}, old: true, level: 7}",
         "{name: \"a\\\"\\\\\\n\\t\\x01\", data: hex:ff, at: {x: 1, y: 2}, old: true, level: 7}"},
        {&rapahub_type_entry,
         "{name: \"\", data: \"\\x00\", at: {x: 1, y: 2}, old: true, level: 7}",
         "{name: \"\", data: hex:00, at: {x: 1, y: 2}, old: true, level: 7}"},
        {&rapahub_type_entry,
         "{name: \"\\x7f~\", data: \"\", at: {x: 1, y: 2}, old: true, level: 7}",
         "{name: \"\\x7f~\", data: \"\", at: {x: 1, y: 2}, old: true, level: 7}"},
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
        {&rapahub_type_bool, "trus", "'trus' is no bool: true or false"},
        {&rapahub_type_bool, "truer", "'truer' is no bool: true or false"},
        {&rapahub_type_bool, "falsx", "'falsx' is no bool: true or false"},
        {&rapahub_type_bool, "falser", "'falser' is no bool: true or false"},
        {&rapahub_type_void, "x", "'x' is no void"},
        {&rapahub_type_string, "\xff", "not UTF-8"},
        {&rapahub_type_bytes, "hex:0", "'0' is no row of hexadecimal digits"},
        {&rapahub_type_bytes, "hex:0g", "'0g' is no row of hexadecimal digits"},
        {&rapahub_type_bytes, "hex:1g", "'1g' is no row of hexadecimal digits"},
        {&rapahub_type_bytes, "hex:g0", "'g0' is no row of hexadecimal digits"},
        {&rapahub_type_point, "", "column 1: '{' is expected"},
        {&rapahub_type_point, "{y: 1}", "member 'x' is missing"},
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
        {&rapahub_type_entry, "{name: \"\\q41\"}", "column 9: no such escape"},
        {&rapahub_type_entry, "{name: \"\\x0\"}", "column 9: no such escape"},
        {&rapahub_type_entry, "{name: \"\\x41", "column 8: the quotation mark has no end"},
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

/* A zero is a sign like any other: no space, and no end of a word. */
static void a_text_may_hold_zeros(void **state)
{
    static const char after_comma[] = "{x: 1,\0y: 1}", after_number[] = "{x: 1\0, y: 1}";
    struct hub_text_arena arena = {NULL};
    union value value;

    (void)state;
    assert_int_equal(
        parse_sized(&rapahub_type_point, after_comma, sizeof after_comma - 1, &value, &arena),
        RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "column 7: the record has no such member"));
    assert_int_equal(
        parse_sized(&rapahub_type_point, after_number, sizeof after_number - 1, &value, &arena),
        RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "is no f64"));
    assert_int_equal(parse_sized(&rapahub_type_string, "a\0b", 3, &value, &arena), 0);
    assert_int_equal(value.string.size, 3);
    hub_text_arena_fini(&arena);
}

#define SHOWN 80 /* bytes of a text in a message */

static void a_message_shows_the_start_of_a_long_text(void **state)
{
    struct hub_text_arena arena = {NULL};
    char text[2 * SHOWN + 1] = {0}, expected[4 * SHOWN];
    union value value;

    (void)state;
    memset(text, 'y', sizeof text - 1);
    assert_int_equal(parse(&rapahub_type_bool, text, &value, &arena), RAPAHUB_EINVAL);
    snprintf(expected, sizeof expected, "'%.*s' is no bool: true or false", SHOWN, text);
    assert_string_equal(rapahub_last_error()->text, expected);
    assert_int_equal(parse(&rapahub_type_point, text, &value, &arena), RAPAHUB_EINVAL);
    snprintf(expected, sizeof expected, "'%.*s': column 1: '{' is expected", SHOWN, text);
    assert_string_equal(rapahub_last_error()->text, expected);
    hub_text_arena_fini(&arena);
}

/* Types that a program describes itself may be as deep as it likes. */
static void a_record_may_be_eight_deep(void **state)
{
    enum { DEPTH = HUB_RECORD_DEPTH + 1 };
    struct rapahub_type types[DEPTH];
    struct rapahub_member members[DEPTH][2] = {0};
    struct hub_text_arena arena = {NULL};
    char text[16 * DEPTH] = "7", around[sizeof text + 8];
    union value value = {0};

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        members[i][0] = (struct rapahub_member){"a", i ? &types[i - 1] : &rapahub_type_u8, 0};
        types[i] = (struct rapahub_type){RAPAHUB_KIND_RECORD, "r", 1, members[i]};
        snprintf(around, sizeof around, "{a: %s}", text);
        memcpy(text, around, sizeof text);
        assert_int_equal(hub_text_parse(&types[i], text, strlen(text), &value, &arena),
                         i < HUB_RECORD_DEPTH ? 0 : RAPAHUB_EINVAL);
    }
    assert_int_equal(*(uint8_t *)&value, 7);
    assert_non_null(strstr(rapahub_last_error()->text, "'{' is expected"));
    hub_text_arena_fini(&arena);
}

static void a_stream_is_no_text(void **state)
{
    struct hub_text_arena arena = {NULL};
    struct hub_signature *signature;
    union value value;

    (void)state;
    assert_int_equal(hub_signature_parse("f(source)", &signature), 0);
    assert_int_equal(parse(signature->types[1], "a", &value, &arena), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->text,
                        "a stream is a file: @FILE, or - for the terminal");
    hub_signature_release(&signature);
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
        {&rapahub_type_string, "\xc2\x9b\xc2\x80", "\"\\u009b\\u0080\""},
        {&rapahub_type_string, "\xd8\x9c", "\"\\u061c\""},
        {&rapahub_type_string, "\xe2\x80\xae\xe2\x81\xa6", "\"\\u202e\\u2066\""},
        {&rapahub_type_string, "\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xe2\x82\xac\xf0\x9f\x98\x80\""},
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

static void json_of_bytes_is_of_these_alone(void **state)
{
    static const char *const wanted[] = {"\"\"", "\"/w==\"", "\"//8=\"", "\"////\"",
                                         "\"/////w==\""};
    static const uint8_t all[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    (void)state;
    for (size_t size = 0; size < sizeof wanted / sizeof *wanted; size++) {
        const struct rapahub_bytes bytes = {all, size};
        char *json = hub_text_json(&rapahub_type_bytes, &bytes);

        assert_string_equal(json, wanted[size]);
        free(json);
    }
}

static void json_is_utf8_whatever_a_string_holds(void **state)
{
    static const struct {
        struct rapahub_string string;
        const char *json;
    } cases[] = {
        {{"a\xff", 2}, "\"a\\ufffd\""},
        {{"\xc2\x9b", 1}, "\"\\ufffd\""}, /* the rest is not its own */
        {{"\xe2\x80\xae", 2}, "\"\\ufffd\\ufffd\""},
        {{"\xff\xfe\xfd\xfc", 4}, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {{"\xf0\x9f\x98", 3}, "\"\\ufffd\\ufffd\\ufffd\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *json = hub_text_json(&rapahub_type_string, &cases[i].string);

        assert_string_equal(json, cases[i].json);
        free(json);
    }
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
        cmocka_unit_test(a_text_may_hold_zeros),
        cmocka_unit_test(a_message_shows_the_start_of_a_long_text),
        cmocka_unit_test(a_record_may_be_eight_deep),
        cmocka_unit_test(a_stream_is_no_text),
        cmocka_unit_test(views_show_the_arena_and_not_the_text),
        cmocka_unit_test(json_has_its_own_rules),
        cmocka_unit_test(json_of_bytes_is_of_these_alone),
        cmocka_unit_test(json_is_utf8_whatever_a_string_holds),
        cmocka_unit_test(a_type_of_text_can_be_read_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
