/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "hub/wire/arena.h"
#include "tests/support/testing.h"

static void blocks_are_zeroed_aligned_and_apart(void **state)
{
    void *blocks = NULL;
    uint8_t *first = hub_arena_alloc(&blocks, 5), *second = hub_arena_alloc(&blocks, 1);
    static const uint8_t zeros[5];

    (void)state;
    assert_memory_equal(first, zeros, 5);
    assert_int_equal((uintptr_t)first % sizeof(max_align_t) % 16, 0);
    memset(first, 0xff, 5);
    assert_int_equal(*second, 0);
    hub_arena_release(&blocks);
    assert_null(blocks);
    hub_arena_release(&blocks);
}

static void a_copy_ends_with_0(void **state)
{
    void *blocks = NULL;

    (void)state;
    assert_string_equal(hub_arena_copy(&blocks, "text and more", 4), "text");
    assert_string_equal(hub_arena_copy(&blocks, NULL, 0), "");
    hub_arena_release(&blocks);
}

static void a_size_that_cannot_be_is_no_memory(void **state)
{
    void *blocks = NULL;

    (void)state;
    assert_null(hub_arena_alloc(&blocks, SIZE_MAX));
    assert_null(blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_aligned_and_apart),
        cmocka_unit_test(a_copy_ends_with_0),
        cmocka_unit_test(a_size_that_cannot_be_is_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
