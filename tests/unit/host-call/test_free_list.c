/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/call/free_list.h"
#include "tests/support/testing.h"

static void a_piece_comes_back_as_it_was_given(void **state)
{
    struct host_free_list free_list;
    uint64_t piece[8], *other;

    (void)state;
    host_free_list_open(&free_list);
    assert_null(host_free_list_pop(&free_list));
    memset(piece, 42, sizeof piece);
    host_free_list_give(&free_list, piece);
    other = host_free_list_pop(&free_list);
    assert_ptr_equal(other, piece);
    for (unsigned i = 1; i < sizeof piece / sizeof *piece; i++)
        assert_int_equal(other[i], UINT64_C(0x2a2a2a2a2a2a2a2a));
    assert_null(host_free_list_pop(&free_list));
    host_free_list_close(&free_list);
}

static void a_closed_free_list_touches_nothing_any_more(void **state)
{
    struct host_free_list free_list;
    uint64_t piece = 42, late = 42;

    (void)state;
    host_free_list_open(&free_list);
    host_free_list_give(&free_list, &piece);
    host_free_list_close(&free_list);
    assert_null(host_free_list_pop(&free_list));
    host_free_list_give(&free_list, &late);
    assert_int_equal(late, 42);
    assert_null(host_free_list_pop(&free_list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_comes_back_as_it_was_given),
        cmocka_unit_test(a_closed_free_list_touches_nothing_any_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
