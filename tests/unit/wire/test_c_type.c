/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/arena.h"
#include "hub/wire/c_type.h"
#include "tests/support/testing.h"

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

struct mixed {
    uint8_t a;
    struct rapahub_string name;
    bool b;
    struct point at;
    struct rapahub_bytes bytes;
    uint16_t c;
};
RAPAHUB_RECORD(mixed, RAPAHUB_MEMBER(mixed, a, u8), RAPAHUB_MEMBER(mixed, name, string),
               RAPAHUB_MEMBER(mixed, b, bool), RAPAHUB_MEMBER(mixed, at, point),
               RAPAHUB_MEMBER(mixed, bytes, bytes), RAPAHUB_MEMBER(mixed, c, u16));

/* Says less than the struct has. */
struct longer {
    uint32_t a, b;
};
RAPAHUB_RECORD(longer, RAPAHUB_MEMBER(longer, a, u32));
struct gap {
    uint32_t a, b, c;
};
RAPAHUB_RECORD(gap, RAPAHUB_MEMBER(gap, a, u32), RAPAHUB_MEMBER(gap, c, u32));
struct packed {
    uint8_t a;
    uint32_t b;
} __attribute__((packed));
RAPAHUB_RECORD(packed, RAPAHUB_MEMBER(packed, a, u8), RAPAHUB_MEMBER(packed, b, u32));
struct outer {
    struct gap gap;
};
RAPAHUB_RECORD(outer, RAPAHUB_MEMBER(outer, gap, gap));

static void a_record_becomes_the_same_struct(void **state)
{
    void *blocks = NULL;
    ffi_type *type;

    (void)state;
    assert_int_equal(hub_c_type_of(&blocks, &rapahub_type_mixed, &type), 0);
    assert_int_equal(type->size, sizeof(struct mixed));
    assert_int_equal(type->alignment, _Alignof(struct mixed));
    hub_arena_release(&blocks);
}

static void another_layout_is_refused_and_named(void **state)
{
    static const struct {
        const struct rapahub_type *type;
        const char *expected;
    } cases[] = {
        {&rapahub_type_longer, "record 'longer' has 8 bytes where a C struct that ends with member "
                               "'a' has 4"},
        {&rapahub_type_gap, "member 'c' of record 'gap' is at byte 8 where a C struct of these "
                            "members has it at 4"},
        {&rapahub_type_packed, "member 'b' of record 'packed' is at byte 1"},
        {&rapahub_type_outer, "member 'c' of record 'gap'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        void *blocks = NULL;
        ffi_type *type;

        assert_int_equal(hub_c_type_of(&blocks, cases[i].type, &type), RAPAHUB_EABI);
        assert_non_null(strstr(rapahub_last_error()->text, cases[i].expected));
        hub_arena_release(&blocks);
    }
}

static void views_are_found_in_records(void **state)
{
    (void)state;
    assert_true(hub_c_type_has_views(&rapahub_type_string));
    assert_true(hub_c_type_has_views(&rapahub_type_bytes));
    assert_true(hub_c_type_has_views(&rapahub_type_mixed));
    assert_false(hub_c_type_has_views(&rapahub_type_point));
    assert_false(hub_c_type_has_views(&rapahub_type_u64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_becomes_the_same_struct),
        cmocka_unit_test(another_layout_is_refused_and_named),
        cmocka_unit_test(views_are_found_in_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
