/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/small_copy.h"
#include "tests/support/testing.h"

#define MOST 32

/* Each number of bytes comes whole, and nothing beside it is touched. */
static void all_of_them_are_copied_and_no_more(void **state)
{
    uint8_t from[MOST], to[1 + MOST + 1];

    (void)state;
    for (size_t i = 0; i < MOST; i++)
        from[i] = (uint8_t)(i + 1);
    for (size_t size = 0; size <= MOST; size++) {
        memset(to, 0xee, sizeof to);
        hub_small_copy_copy(to + 1, from + MOST - size, size);
        assert_int_equal(to[0], 0xee);
        assert_memory_equal(to + 1, from + MOST - size, size);
        assert_int_equal(to[1 + size], 0xee);
    }
}

static void none_may_be_nowhere(void **state)
{
    char to = 'x';

    (void)state;
    hub_small_copy_copy(&to, NULL, 0);
    assert_int_equal(to, 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them_are_copied_and_no_more),
        cmocka_unit_test(none_may_be_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
