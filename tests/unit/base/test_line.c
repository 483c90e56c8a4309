/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "hub/base/line.h"
#include "tests/support/testing.h"

static void the_next_line_is_at_a_place_or_behind_it(void **state)
{
    static _Alignas(64) uint8_t lines[3 * 64];

    (void)state;
    for (size_t at = 0; at <= 128; at++)
        assert_ptr_equal(hub_line_next(lines + at), lines + (at + 63) / 64 * 64);
}

static void memory_begins_at_a_line_and_is_zeroed_to_the_end_of_one(void **state)
{
    (void)state;
    for (size_t size = 1; size < 300; size++) {
        uint8_t *zeroed = hub_line_zeroed(size), *plain = hub_line_alloc(size);

        assert_true(zeroed && plain && hub_line_begins(zeroed) && hub_line_begins(plain));
        for (size_t i = 0; i < (size + 63) / 64 * 64; i++)
            assert_int_equal(zeroed[i], 0);
        free(zeroed);
        free(plain);
    }
}

static void a_size_that_no_memory_has_gives_nothing(void **state)
{
    (void)state;
    assert_null(hub_line_alloc(SIZE_MAX));
    assert_null(hub_line_alloc(SIZE_MAX - 63));
    assert_null(hub_line_zeroed(SIZE_MAX - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_line_is_at_a_place_or_behind_it),
        cmocka_unit_test(memory_begins_at_a_line_and_is_zeroed_to_the_end_of_one),
        cmocka_unit_test(a_size_that_no_memory_has_gives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
