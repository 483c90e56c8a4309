/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/target/answer.h"
#include "tests/support/testing.h"

struct inner {
    struct rapahub_bytes bytes;
};
struct outer {
    uint32_t number;
    struct rapahub_string text;
    struct inner inner;
};

static const struct rapahub_member inner_members[] = {
    {"bytes", &rapahub_type_bytes, offsetof(struct inner, bytes)}, {NULL, NULL, 0}};
static const struct rapahub_type inner_type = {
    .kind = RAPAHUB_KIND_RECORD, .size = sizeof(struct inner), .members = inner_members};
static const struct rapahub_member outer_members[] = {
    {"number", &rapahub_type_u32, offsetof(struct outer, number)},
    {"text", &rapahub_type_string, offsetof(struct outer, text)},
    {"inner", &inner_type, offsetof(struct outer, inner)},
    {NULL, NULL, 0}};
static const struct rapahub_type outer_type = {
    .kind = RAPAHUB_KIND_RECORD, .size = sizeof(struct outer), .members = outer_members};

static const uint8_t encoded[] = {7, 3, 'a', 'b', 'c', 2, 1, 2};

static void keep(struct cli_answer *answer)
{
    char text[] = "abc", bytes[] = {1, 2};
    struct outer value = {7, {text, 3}, {{bytes, 2}}};

    assert_int_equal(cli_answer_keep(answer, &outer_type, &value), 0);
    memset(text, 'x', sizeof text);
    memset(bytes, 'x', sizeof bytes);
    memset(&value, 0, sizeof value);
}

static void a_value_outlives_what_it_showed(void **state)
{
    struct cli_answer answer = {.blocks = NULL};
    const struct outer *kept;
    const void *value;

    (void)state;
    keep(&answer);
    assert_int_equal(cli_answer_value(&answer, &outer_type, &value), 0);
    kept = value;
    assert_int_equal(kept->number, 7);
    assert_int_equal(kept->text.size, 3);
    assert_memory_equal(kept->text.data, "abc", 3);
    assert_memory_equal(kept->inner.bytes.data, "\1\2", 2);
    cli_answer_fini(&answer);
}

static void a_value_is_kept_as_a_payload(void **state)
{
    struct cli_answer answer = {.blocks = NULL};
    const void *value;

    (void)state;
    keep(&answer);
    assert_int_equal(answer.payload.size, sizeof encoded);
    assert_memory_equal(answer.payload.data, encoded, sizeof encoded);
    assert_int_equal(cli_answer_keep_payload(&answer, (struct rapahub_bytes){encoded, 8}), 0);
    assert_int_equal(cli_answer_value(&answer, &outer_type, &value), 0);
    assert_memory_equal(((const struct outer *)value)->text.data, "abc", 3);
    cli_answer_fini(&answer);
}

static void a_malformed_payload_is_refused(void **state)
{
    struct cli_answer answer = {.blocks = NULL};
    const void *value;

    (void)state;
    assert_int_equal(cli_answer_keep_payload(&answer, (struct rapahub_bytes){encoded, 7}), 0);
    assert_int_equal(cli_answer_value(&answer, &outer_type, &value), RAPAHUB_EPROTOCOL);
    assert_int_equal(cli_answer_keep_payload(&answer, (struct rapahub_bytes){"\2", 1}), 0);
    assert_int_equal(cli_answer_value(&answer, &rapahub_type_bool, &value), RAPAHUB_EPROTOCOL);
    assert_int_equal(cli_answer_keep_payload(&answer, (struct rapahub_bytes){"", 0}), 0);
    assert_int_equal(cli_answer_value(&answer, &rapahub_type_i64, &value), RAPAHUB_EPROTOCOL);
    cli_answer_fini(&answer);
}

static void nothing_is_a_result_too(void **state)
{
    struct cli_answer answer = {.blocks = NULL};
    const void *value;

    (void)state;
    assert_int_equal(cli_answer_keep(&answer, &rapahub_type_void, NULL), 0);
    assert_int_equal(cli_answer_value(&answer, &rapahub_type_void, &value), 0);
    assert_null(value);
    assert_int_equal(answer.payload.size, 0);
    cli_answer_fini(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_outlives_what_it_showed),
        cmocka_unit_test(a_value_is_kept_as_a_payload),
        cmocka_unit_test(a_malformed_payload_is_refused),
        cmocka_unit_test(nothing_is_a_result_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
