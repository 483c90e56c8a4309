/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/call/free_list.h"
#include "tests/support/testing.h"

static void a_piece_comes_back_as_it_was_given(void **state)
{
    struct host_free_list shelf;
    uint64_t piece[8], *other;

    (void)state;
    host_free_list_open(&shelf);
    assert_null(host_free_list_pop(&shelf));
    memset(piece, 42, sizeof piece);
    host_free_list_give(&shelf, piece);
    other = host_free_list_pop(&shelf);
    assert_ptr_equal(other, piece);
    for (unsigned i = 1; i < sizeof piece / sizeof *piece; i++)
        assert_int_equal(other[i], UINT64_C(0x2a2a2a2a2a2a2a2a));
    assert_null(host_free_list_pop(&shelf));
    host_free_list_close(&shelf);
}

static void a_closed_shelf_touches_nothing_any_more(void **state)
{
    struct host_free_list shelf;
    uint64_t piece = 42, late = 42;

    (void)state;
    host_free_list_open(&shelf);
    host_free_list_give(&shelf, &piece);
    host_free_list_close(&shelf);
    assert_null(host_free_list_pop(&shelf));
    host_free_list_give(&shelf, &late);
    assert_int_equal(late, 42);
    assert_null(host_free_list_pop(&shelf));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_comes_back_as_it_was_given),
        cmocka_unit_test(a_closed_shelf_touches_nothing_any_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
