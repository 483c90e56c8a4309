/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/signature.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

struct mixed {
    uint8_t a;
    struct rapahub_string name;
    bool b;
    struct point at;
    uint16_t c;
};
RAPAHUB_RECORD(mixed, RAPAHUB_MEMBER(mixed, a, u8), RAPAHUB_MEMBER(mixed, name, string),
               RAPAHUB_MEMBER(mixed, b, bool), RAPAHUB_MEMBER(mixed, at, point),
               RAPAHUB_MEMBER(mixed, c, u16));

static void the_hash_is_fnv_1a(void **state)
{
    struct vectors *all = vectors_open();
    size_t checked = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(all, "method-id", v)); checked++)
        assert_int_equal(hub_signature_hash(vectors_text(vectors_member(v->value, "text"))),
                         vectors_hex(vectors_member(v->value, "id")));
    assert_int_equal(checked, vectors_count(all, "method-id"));
    assert_true(checked > 0);
    vectors_close(all);
}

static void a_signature_is_printed_in_one_way_only(void **state)
{
    static const struct {
        const char *text, *canonical;
        uint32_t arguments;
    } cases[] = {
        {"add(i64, i64) -> i64", "add(i64, i64) -> i64", 2},
        {"  add ( i64,i64 )->i64 ", "add(i64, i64) -> i64", 2},
        {"ping()", "ping() -> void", 0},
        {"ping(void)", "ping() -> void", 0},
        {"ping ( void ) -> void", "ping() -> void", 0},
        {"norm({x:f64,y:f64})->f64", "norm({x: f64, y: f64}) -> f64", 1},
        {"_a1(bool,i8,i16,i32,u8,u16,u32,u64,f32,string,bytes)->{a:{b:u8}}",
         "_a1(bool, i8, i16, i32, u8, u16, u32, u64, f32, string, bytes) -> {a: {b: u8}}", 11},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hub_signature *signature;

        assert_int_equal(hub_signature_parse(cases[i].text, &signature), 0);
        assert_string_equal(signature->text, cases[i].canonical);
        assert_int_equal(signature->argument_count, cases[i].arguments);
        assert_null(signature->types[1 + cases[i].arguments]);
        assert_int_equal(signature->id, hub_signature_hash(cases[i].canonical));
        hub_signature_release(&signature);
        assert_null(signature);
    }
}

static void what_is_wrong_is_named_with_its_column(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"add(i46)", "'add(i46)': column 5: no such type 'i46'; types are void bool i8 i16 i32 i64 "
                     "u8 u16 u32 u64 f32 f64 string bytes source sink and {records}"},
        {"", "column 1: a name is expected"},
        {"1a()", "column 1: a name is expected"},
        {"a.b()", "column 2: '(' is expected"},
        {"add", "column 4: '(' is expected"},
        {"add(", "column 5: a type is expected"},
        {"add(i64,)", "column 9: a type is expected"},
        {"add(i64 i64)", "column 9: ',' or ')' is expected"},
        {"add(i64, void)", "column 10: an argument cannot be void"},
        {"add(void, i64)", "column 5: an argument cannot be void"},
        {"add() i64", "column 7: the end is expected"},
        {"add() ->", "column 9: a type is expected"},
        {"f({})", "column 4: a name is expected"},
        {"f({x})", "column 5: ':' is expected"},
        {"f({x: void})", "column 7: a member cannot be void"},
        {"f({x: source})", "column 7: a member cannot be a stream"},
        {"f() -> sink", "column 8: a result cannot be a stream"},
        {"f({x: u8, x: u8})", "column 11: a member of that name is there already"},
        {"f({x: u8)", "column 9: ',' or '}' is expected"},
        {"f({a:{a:{a:{a:{a:{a:{a:{a:{a:u8}}}}}}}}})", "column 27: records nest at most 8 deep"},
        {"f(u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8)",
         "column 51: a method has at most 16 arguments"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hub_signature *signature = NULL;

        assert_int_equal(hub_signature_parse(cases[i].text, &signature), -EINVAL);
        assert_null(signature);
        if (!strstr(rapahub_last_error()->text, cases[i].expected))
            fail_msg("%s: %s", cases[i].text, rapahub_last_error()->text);
    }
}

/* r[verify core.channel.return-forbidden] r[verify channeling.error-no-channels] */
static void a_stream_is_an_argument_and_nothing_else(void **state)
{
    static const struct rapahub_member members[] = {{"s", &rapahub_type_source, 0},
                                                    {NULL, NULL, 0}};
    static const struct rapahub_type record = {RAPAHUB_KIND_RECORD, "r", 8, members};
    struct hub_signature *signature;

    (void)state;
    assert_int_equal(
        hub_signature_make("f",
                           (const struct rapahub_type *const[]){
                               &rapahub_type_void, &rapahub_type_source, &rapahub_type_sink, NULL},
                           &signature),
        0);
    assert_string_equal(signature->text, "f(source, sink) -> void");
    hub_signature_release(&signature);
    assert_int_equal(
        hub_signature_make("f", (const struct rapahub_type *const[]){&rapahub_type_sink, NULL},
                           &signature),
        -EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "core.channel.return-forbidden");
    assert_int_equal(
        hub_signature_make("f",
                           (const struct rapahub_type *const[]){&rapahub_type_void, &record, NULL},
                           &signature),
        -EINVAL);
}

static void eight_records_deep_is_allowed(void **state)
{
    struct hub_signature *signature;

    (void)state;
    assert_int_equal(hub_signature_parse("f({a:{a:{a:{a:{a:{a:{a:{a:u8}}}}}}}})", &signature), 0);
    hub_signature_release(&signature);
}

/* A record of `count` members with names of one or two letters. */
static int parse_members(unsigned count)
{
    struct hub_signature *signature = NULL;
    char text[2048];
    size_t size = (size_t)snprintf(text, sizeof(text), "f({");
    int r;

    for (unsigned i = 0; i < count; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%sm%u: u8", i ? ", " : "", i);
    snprintf(text + size, sizeof(text) - size, "})");
    r = hub_signature_parse(text, &signature);
    hub_signature_release(&signature);
    return r;
}

static void sizes_are_bounded(void **state)
{
    char text[RAPAHUB_SIGNATURE_MAX + 2], name[80];
    struct hub_signature *signature;

    (void)state;
    assert_int_equal(parse_members(64), 0);
    assert_int_equal(parse_members(65), -EINVAL);
    memset(text, ' ', sizeof(text));
    memcpy(text, "f()", 3);
    text[RAPAHUB_SIGNATURE_MAX] = '\0';
    assert_int_equal(hub_signature_parse(text, &signature), 0);
    hub_signature_release(&signature);
    text[RAPAHUB_SIGNATURE_MAX] = ' ';
    text[RAPAHUB_SIGNATURE_MAX + 1] = '\0';
    assert_int_equal(hub_signature_parse(text, &signature), -EINVAL);
    snprintf(name, sizeof(name), "%063d()", 0);
    name[0] = 'n';
    assert_int_equal(hub_signature_parse(name, &signature), 0);
    hub_signature_release(&signature);
    snprintf(name, sizeof(name), "%064d()", 0);
    name[0] = 'n';
    assert_int_equal(hub_signature_parse(name, &signature), -EINVAL);
}

static void a_record_of_text_has_the_layout_of_the_compiler(void **state)
{
    const char *text = "f() -> {a: u8, name: string, b: bool, at: {x: f64, y: f64}, c: u16}";
    struct hub_signature *signature;
    const struct rapahub_type *type;

    (void)state;
    assert_int_equal(hub_signature_parse(text, &signature), 0);
    type = signature->types[0];
    assert_int_equal(type->size, sizeof(struct mixed));
    for (size_t i = 0; rapahub_members_mixed[i].name; i++) {
        assert_string_equal(type->members[i].name, rapahub_members_mixed[i].name);
        assert_int_equal(type->members[i].offset, rapahub_members_mixed[i].offset);
        assert_int_equal(type->members[i].type->kind, rapahub_members_mixed[i].type->kind);
    }
    assert_null(type->members[5].name);
    hub_signature_release(&signature);
}

static void descriptions_and_text_give_the_same_id(void **state)
{
    struct hub_signature *made, *parsed;

    (void)state;
    assert_int_equal(hub_signature_make("f", RAPAHUB_TYPES(mixed, point, bool), &made), 0);
    assert_string_equal(made->text, "f({x: f64, y: f64}, bool) -> {a: u8, name: string, b: bool, "
                                    "at: {x: f64, y: f64}, c: u16}");
    assert_int_equal(hub_signature_parse(made->text, &parsed), 0);
    assert_int_equal(parsed->id, made->id);
    assert_string_equal(parsed->text, made->text);
    hub_signature_release(&made);
    hub_signature_release(&parsed);
}

static int make(const char *name, const struct rapahub_type *const *types)
{
    struct hub_signature *signature = NULL;
    int r = hub_signature_make(name, types, &signature);

    hub_signature_release(&signature);
    return r;
}

/* `count` records, each the only member of the next. */
static int make_nested(size_t count)
{
    struct rapahub_member members[HUB_RECORD_DEPTH + 1][2] = {{{"m", &rapahub_type_u8, 0}}};
    struct rapahub_type records[HUB_RECORD_DEPTH + 1];

    for (size_t i = 0; i < count; i++) {
        if (i)
            members[i][0] = (struct rapahub_member){"m", &records[i - 1], 0};
        records[i] = (struct rapahub_type){RAPAHUB_KIND_RECORD, "nested", 1, members[i]};
    }
    return make("f", (const struct rapahub_type *const[]){&records[count - 1], NULL});
}

static void descriptions_nest_eight_deep_too(void **state)
{
    (void)state;
    assert_int_equal(make_nested(HUB_RECORD_DEPTH), 0);
    assert_int_equal(make_nested(HUB_RECORD_DEPTH + 1), -EINVAL);
}

static void bad_descriptions_are_refused(void **state)
{
    struct rapahub_member again[] = {{"again", NULL, 0}, {NULL, NULL, 0}};
    const struct rapahub_type endless = {RAPAHUB_KIND_RECORD, "again", 8, again};
    const struct rapahub_type hollow = {RAPAHUB_KIND_RECORD, "hollow", 8, again + 1};
    const struct rapahub_type unknown = {(enum rapahub_kind)99, "what", 8, NULL};
    const struct rapahub_type *types[HUB_SIGNATURE_ARGUMENTS_MAX + 3] = {&rapahub_type_void};

    (void)state;
    again[0].type = &endless;
    assert_int_equal(make("a.b", RAPAHUB_TYPES(void, u8)), -EINVAL);
    assert_int_equal(make("f", types + 1), -EINVAL);
    assert_int_equal(make("f", NULL), -EINVAL);
    types[1] = &rapahub_type_void;
    assert_int_equal(make("f", types), -EINVAL);
    types[1] = &endless;
    assert_int_equal(make("f", types), -EINVAL);
    types[1] = &hollow;
    assert_int_equal(make("f", types), -EINVAL);
    types[1] = &unknown;
    assert_int_equal(make("f", types), -EINVAL);
    for (size_t i = 1; i <= HUB_SIGNATURE_ARGUMENTS_MAX; i++)
        types[i] = &rapahub_type_u8;
    assert_int_equal(make("f", types), 0);
    types[HUB_SIGNATURE_ARGUMENTS_MAX + 1] = &rapahub_type_u8;
    assert_int_equal(make("f", types), -EINVAL);
}

static void a_name_is_letters_digits_and_lines(void **state)
{
    (void)state;
    assert_true(hub_signature_is_name("add"));
    assert_true(hub_signature_is_name("_A9"));
    assert_false(hub_signature_is_name(""));
    assert_false(hub_signature_is_name("9a"));
    assert_false(hub_signature_is_name("a-b"));
    assert_false(hub_signature_is_name("rapahub.ready"));
}

static void a_printed_signature_is_cut_at_the_size(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(hub_signature_print("f", RAPAHUB_TYPES(void, point), text, 4), 27);
    assert_string_equal(text, "f({");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_fnv_1a),
        cmocka_unit_test(a_signature_is_printed_in_one_way_only),
        cmocka_unit_test(what_is_wrong_is_named_with_its_column),
        cmocka_unit_test(a_stream_is_an_argument_and_nothing_else),
        cmocka_unit_test(eight_records_deep_is_allowed),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(a_record_of_text_has_the_layout_of_the_compiler),
        cmocka_unit_test(descriptions_and_text_give_the_same_id),
        cmocka_unit_test(descriptions_nest_eight_deep_too),
        cmocka_unit_test(bad_descriptions_are_refused),
        cmocka_unit_test(a_name_is_letters_digits_and_lines),
        cmocka_unit_test(a_printed_signature_is_cut_at_the_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
