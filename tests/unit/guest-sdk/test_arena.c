/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "guest-sdk/arena.h"
#include "tests/support/testing.h"

static void each_piece_is_apart_and_all_end_together(void **state)
{
    struct guest_arena arena = {NULL};
    char *pieces[64];

    (void)state;
    for (int i = 0; i < 64; i++) {
        pieces[i] = guest_arena_alloc(&arena, 100);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % RAPAHUB_BYTES_ALIGN, 0);
        memset(pieces[i], i, 100);
    }
    for (int i = 0; i < 64; i++)
        assert_true(pieces[i][0] == i && pieces[i][99] == i);
    guest_arena_fini(&arena);
    assert_null(arena.blocks);
}

static void a_piece_of_no_bytes_is_a_piece(void **state)
{
    struct guest_arena arena = {NULL};

    (void)state;
    assert_non_null(guest_arena_alloc(&arena, 0));
    guest_arena_fini(&arena);
    guest_arena_fini(&arena);
    assert_non_null(guest_arena_alloc(&arena, 8)); /* and it may begin anew */
    guest_arena_fini(&arena);
}

static void a_size_that_no_memory_has_gives_nothing(void **state)
{
    struct guest_arena arena = {NULL};

    (void)state;
    assert_null(guest_arena_alloc(&arena, SIZE_MAX));
    assert_null(guest_arena_alloc(&arena, SIZE_MAX - 8));
    assert_null(arena.blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_piece_is_apart_and_all_end_together),
        cmocka_unit_test(a_piece_of_no_bytes_is_a_piece),
        cmocka_unit_test(a_size_that_no_memory_has_gives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
