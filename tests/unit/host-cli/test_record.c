/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/text/record.h"
#include "hub/wire/signature.h"
#include "tests/support/testing.h"

struct inner {
    double x;
    struct rapahub_bytes data;
};
struct outer {
    uint64_t most;
    bool yes;
    struct rapahub_string text;
    struct inner inner;
};
RAPAHUB_RECORD(inner, RAPAHUB_MEMBER(inner, x, f64), RAPAHUB_MEMBER(inner, data, bytes));
RAPAHUB_RECORD(outer, RAPAHUB_MEMBER(outer, most, u64), RAPAHUB_MEMBER(outer, yes, bool),
               RAPAHUB_MEMBER(outer, text, string), RAPAHUB_MEMBER(outer, inner, inner));

static void json_begins_with_a_quoted_member(void **state)
{
    (void)state;
    assert_true(cli_record_is_json("{\"x\": 1}"));
    assert_true(cli_record_is_json("{ \"x\": 1}"));
    assert_false(cli_record_is_json("{x: 1}"));
    assert_false(cli_record_is_json("{}"));
    assert_false(cli_record_is_json(""));
}

static int parse(const char *text, struct outer *out, struct hub_text_arena *arena)
{
    return cli_record_parse(&rapahub_type_outer, text, out, arena);
}

static void members_are_stored_by_type(void **state)
{
    struct hub_text_arena arena = {NULL};
    struct outer value;

    (void)state;
    assert_int_equal(parse("{\"inner\": {\"data\": \"AAEC\", \"x\": -1.5}, \"yes\": true,"
                           " \"text\": \"h\\u00e9\", \"most\": 9007199254740993}",
                           &value, &arena),
                     0);
    assert_true(value.most == UINT64_C(9007199254740993));
    assert_true(value.yes);
    assert_int_equal(value.text.size, 3);
    assert_true(value.inner.x == -1.5);
    assert_int_equal(value.inner.data.size, 3);
    assert_memory_equal(value.inner.data.data, "\0\1\2", 3);
    hub_text_arena_fini(&arena);
}

static void what_does_not_fit_is_refused(void **state)
{
#define REST ", \"yes\": true, \"text\": \"\", \"inner\": {\"x\": 1, \"data\": \"\"}}"
    static const char *const bad[] = {
        "{\"most\": -1" REST,
        "{\"most\": 1.5" REST,
        "{\"most\": true" REST,
        "{\"most\": null" REST,
        "{\"most\": 1, \"more\": 1" REST,
        "{\"most\": 1, \"most\": 1" REST,
        "{\"other\": 1" REST,
        "{\"most\": 1, \"yes\": 1, \"text\": \"\", \"inner\": {\"x\": 1, \"data\": \"\"}}",
        "{\"most\": 1, \"yes\": true, \"text\": 1, \"inner\": {\"x\": 1, \"data\": \"\"}}",
        "{\"most\": 1, \"yes\": true, \"text\": \"\", \"inner\": {\"x\": 1, \"data\": \"?\"}}",
        "{\"most\": 1, \"yes\": true, \"text\": \"\", \"inner\": 1}",
        "{\"most\": 1",
    };
    struct outer value;

    (void)state;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hub_text_arena arena = {NULL};

        assert_int_equal(parse(bad[i], &value, &arena), RAPAHUB_EINVAL);
        hub_text_arena_fini(&arena);
    }
}

static void a_float_that_json_has_not_is_a_string(void **state)
{
    struct hub_text_arena arena = {NULL};
    struct outer value;

    (void)state;
    assert_int_equal(parse("{\"most\": 1, \"yes\": false, \"text\": \"\","
                           " \"inner\": {\"x\": \"-inf\", \"data\": \"\"}}",
                           &value, &arena),
                     0);
    assert_true(value.inner.x < -1e300);
    hub_text_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_begins_with_a_quoted_member),
        cmocka_unit_test(members_are_stored_by_type),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_float_that_json_has_not_is_a_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
