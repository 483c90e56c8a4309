/* SPDX-License-Identifier: Apache-2.0 */
/* Only misaligned bytes are moved. */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/align.h"
#include "tests/support/faults.h"
#include "tests/support/places.h"
#include "tests/support/testing.h"

#define SIZE 200

static _Alignas(64) uint8_t lines[1024];

static void fill(void)
{
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = (uint8_t)(i * 7 + i / 256);
}

/* r[verify hub.bytes.align] */
static void bytes_are_moved_where_they_begin_elsewhere(void **state)
{
    struct hub_align memory = {0};

    (void)state;
    fill();
    for (size_t at = 0; at < 64; at++)
        for (size_t size = 0; size <= SIZE; size += 20) {
            struct rapahub_bytes bytes = {lines + at, size};

            assert_int_equal(hub_align_bytes(&bytes, &memory), 0);
            assert_int_equal(bytes.data == lines + at, at == 0);
            assert_true(places_are_good(&bytes, NULL));
            assert_int_equal(bytes.size, size);
            assert_memory_equal(bytes.data, lines + at, size);
        }
    hub_align_fini(&memory);
}

struct values {
    uint8_t number;
    struct trio trio;
    struct rapahub_bytes last;
};

/* The largest may be any of them; those at 16 stay. r[verify hub.bytes.align] */
static void of_several_the_largest_begins_at_a_line(void **state)
{
    static const struct rapahub_type *const types[] = {&rapahub_type_u8, &rapahub_type_trio,
                                                       &rapahub_type_bytes, NULL};
    static const size_t places[] = {offsetof(struct values, number), offsetof(struct values, trio),
                                    offsetof(struct values, last)};
    struct hub_align memory = {0};
    struct values values = {.number = 3};

    (void)state;
    fill();
    for (size_t i = 0; i < 256; i++) {
        struct trio *const trio = &values.trio;
        struct rapahub_bytes *const last = &values.last;

        *trio = (struct trio){.a = {lines + 64 + i % 4 * 8, i % 3 * 50},
                              .text = {(const char *)lines + 1, 5},
                              .b = {lines + 256 + i / 4 % 4 * 8, 70 + i},
                              .c = {lines + 130, i}};
        *last = (struct rapahub_bytes){lines + 16 * (i / 16), 255 - i};
        const struct trio before = *trio;

        assert_int_equal(hub_align_values(types, &values, places, &memory), 0);
        assert_true(places_of_trio_are_good(trio, last));
        assert_memory_equal(trio->a.data, before.a.data, trio->a.size);
        assert_memory_equal(trio->b.data, before.b.data, trio->b.size);
        assert_memory_equal(trio->c.data, before.c.data, trio->c.size);
        assert_memory_equal(last->data, lines + 16 * (i / 16), last->size);
        assert_ptr_equal(trio->text.data, before.text.data);
        if (last->size < trio->b.size)
            assert_ptr_equal(last->data, lines + 16 * (i / 16));
        if (i % 2 == 0)
            assert_ptr_equal(trio->a.data, before.a.data);
    }
    hub_align_fini(&memory);
}

static void without_memory_nothing_is_moved(void **state)
{
    struct rapahub_bytes bytes = {lines + 1, SIZE};
    struct hub_align memory = {0};

    (void)state;
    faults_arm(FAULTS_aligned_alloc, 1);
    assert_int_equal(hub_align_bytes(&bytes, &memory), RAPAHUB_ENOMEM);
    assert_true(faults_disarm());
    assert_ptr_equal(bytes.data, lines + 1);
    assert_int_equal(hub_align_bytes(&bytes, &memory), 0);
    assert_true(places_are_good(&bytes, NULL));
    hub_align_fini(&memory);
    hub_align_fini(&memory);
}

struct pair_of_numbers {
    uint64_t a;
    uint32_t b;
};
RAPAHUB_RECORD(pair_of_numbers, RAPAHUB_MEMBER(pair_of_numbers, a, u64),
               RAPAHUB_MEMBER(pair_of_numbers, b, u32));

static void what_has_no_bytes_is_of_no_concern(void **state)
{
    (void)state;
    assert_false(hub_align_concerns(&rapahub_type_u64));
    assert_false(hub_align_concerns(&rapahub_type_string));
    assert_false(hub_align_concerns(&rapahub_type_pair_of_numbers));
    assert_true(hub_align_concerns(&rapahub_type_bytes));
    assert_true(hub_align_concerns(&rapahub_type_trio));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_moved_where_they_begin_elsewhere),
        cmocka_unit_test(of_several_the_largest_begins_at_a_line),
        cmocka_unit_test(without_memory_nothing_is_moved),
        cmocka_unit_test(what_has_no_bytes_is_of_no_concern),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
