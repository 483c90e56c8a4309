/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/envelope.h>

#include "hub/typed/schema.h"
#include "hub/wire/signature.h"
#include "tests/support/testing.h"

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

struct pair {
    double x, y;
};
RAPAHUB_RECORD(pair, RAPAHUB_MEMBER(pair, x, f64), RAPAHUB_MEMBER(pair, y, f64));

struct turned {
    double y, x;
};
RAPAHUB_RECORD(turned, RAPAHUB_MEMBER(turned, y, f64), RAPAHUB_MEMBER(turned, x, f64));

struct line {
    struct point from, to;
};
RAPAHUB_RECORD(line, RAPAHUB_MEMBER(line, from, point), RAPAHUB_MEMBER(line, to, point));

static uint32_t halves(const char *text)
{
    uint64_t hash = hub_signature_hash(text);

    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

/* r[verify region.schema] */
static void the_id_is_of_the_canonical_text_of_the_type(void **state)
{
    (void)state;
    assert_int_equal(rapahub_schema_id(&rapahub_type_point), halves("{x: f64, y: f64}"));
    assert_int_equal(rapahub_schema_id(&rapahub_type_line),
                     halves("{from: {x: f64, y: f64}, to: {x: f64, y: f64}}"));
    assert_int_equal(rapahub_schema_id(&rapahub_type_u64), halves("u64"));
    assert_int_equal(rapahub_schema_id(&rapahub_type_string), halves("string"));
}

static void types_with_one_text_have_one_id_and_others_another(void **state)
{
    (void)state;
    assert_int_equal(rapahub_schema_id(&rapahub_type_point), rapahub_schema_id(&rapahub_type_pair));
    assert_int_not_equal(rapahub_schema_id(&rapahub_type_point),
                         rapahub_schema_id(&rapahub_type_turned));
    assert_int_not_equal(rapahub_schema_id(&rapahub_type_u64),
                         rapahub_schema_id(&rapahub_type_i64));
}

static struct rapahub_type record_of(const struct rapahub_member *members)
{
    return (struct rapahub_type){RAPAHUB_KIND_RECORD, "record", 8, members};
}

/* r[verify region.schema] */
static void void_and_streams_are_no_messages_also_deep_in_a_record(void **state)
{
    const struct rapahub_type *const none[] = {&rapahub_type_void, &rapahub_type_source,
                                               &rapahub_type_sink};

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const struct rapahub_member members[] = {{"a", none[i], 0}, {NULL, NULL, 0}};
        const struct rapahub_type record = record_of(members);
        const struct rapahub_member outer[] = {{"b", &record, 0}, {NULL, NULL, 0}};
        const struct rapahub_type deep = record_of(outer);

        assert_int_equal(rapahub_schema_id(none[i]), 0);
        assert_int_equal(rapahub_schema_id(&record), 0);
        assert_int_equal(rapahub_schema_id(&deep), 0);
    }
    assert_int_equal(rapahub_schema_id(NULL), 0);
}

static void a_record_has_members_and_not_too_many(void **state)
{
    struct rapahub_member many[HUB_RECORD_MEMBERS + 2] = {{NULL, NULL, 0}};
    struct rapahub_type record = record_of(many);

    (void)state;
    assert_false(hub_schema_is_of_messages(&record));
    for (size_t i = 0; i < HUB_RECORD_MEMBERS; i++)
        many[i] = (struct rapahub_member){"a", &rapahub_type_u8, i};
    assert_true(hub_schema_is_of_messages(&record));
    many[HUB_RECORD_MEMBERS] = many[0];
    assert_false(hub_schema_is_of_messages(&record));
    record.members = NULL;
    assert_false(hub_schema_is_of_messages(&record));
}

static void a_record_is_at_most_so_deep(void **state)
{
    struct rapahub_member members[HUB_RECORD_DEPTH + 1][2];
    struct rapahub_type records[HUB_RECORD_DEPTH + 1];

    (void)state;
    memset(members, 0, sizeof members);
    for (size_t i = 0; i <= HUB_RECORD_DEPTH; i++) {
        members[i][0] =
            (struct rapahub_member){"a", i == 0 ? &rapahub_type_u8 : &records[i - 1], 0};
        records[i] = record_of(members[i]);
        assert_int_equal(hub_schema_is_of_messages(&records[i]), i < HUB_RECORD_DEPTH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_is_of_the_canonical_text_of_the_type),
        cmocka_unit_test(types_with_one_text_have_one_id_and_others_another),
        cmocka_unit_test(void_and_streams_are_no_messages_also_deep_in_a_record),
        cmocka_unit_test(a_record_has_members_and_not_too_many),
        cmocka_unit_test(a_record_is_at_most_so_deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
