/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "host/shelf.h"
#include "tests/support/testing.h"

#define SIZE 64

static void a_piece_comes_back_as_it_was_given(void **state)
{
    struct host_shelf shelf;
    uint64_t *piece, *other;

    (void)state;
    host_shelf_open(&shelf, SIZE, 2);
    piece = host_shelf_take(&shelf);
    assert_non_null(piece);
    for (unsigned i = 0; i < SIZE / sizeof *piece; i++)
        assert_int_equal(piece[i], 0);
    piece[1] = 42;
    assert_true(host_shelf_give(&shelf, piece));
    other = host_shelf_take(&shelf);
    assert_ptr_equal(other, piece);
    assert_int_equal(other[1], 42);
    free(other);
    assert_null(host_shelf_pop(&shelf));
    host_shelf_close(&shelf);
}

static void a_full_shelf_keeps_no_more(void **state)
{
    struct host_shelf shelf;
    void *pieces[3];

    (void)state;
    host_shelf_open(&shelf, SIZE, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(pieces[i] = host_shelf_take(&shelf));
    assert_true(host_shelf_give(&shelf, pieces[0]));
    assert_true(host_shelf_give(&shelf, pieces[1]));
    assert_false(host_shelf_give(&shelf, pieces[2]));
    free(pieces[2]);
    free(host_shelf_pop(&shelf));
    free(host_shelf_pop(&shelf));
    assert_null(host_shelf_pop(&shelf));
    host_shelf_close(&shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_comes_back_as_it_was_given),
        cmocka_unit_test(a_full_shelf_keeps_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
