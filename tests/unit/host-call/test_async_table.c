/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <rapahub/error.h>

#include "host/call/asyncs.h"
#include "hub/base/memory.h"
#include "tests/support/testing.h"

#define FOREIGN (HOST_ASYNC_TABLE_MAX - HOST_ASYNC_TABLE_OWN)

/* The linker puts it before hub_memory_sparse. */
void *__real_hub_memory_sparse(size_t size);
void *__wrap_hub_memory_sparse(size_t size);

static bool refuse;

void *__wrap_hub_memory_sparse(size_t size)
{
    return refuse ? NULL : __real_hub_memory_sparse(size);
}

static struct host_async_table open_table(void)
{
    struct host_async_table table = {0};

    assert_int_equal(host_async_table_open(&table), 0);
    return table;
}

/* A piece that nobody uses, as asyncs make them. */
static struct host_async *new_piece(void)
{
    struct host_async *piece = calloc(1, sizeof *piece);

    assert_non_null(piece);
    return piece;
}

static void without_memory_there_is_no_table(void **state)
{
    struct host_async_table table = {0};

    (void)state;
    refuse = true;
    assert_int_equal(host_async_table_open(&table), RAPAHUB_ENOMEM);
    refuse = false;
    host_async_table_close(&table);
}

static void a_number_is_of_one_call_until_it_leaves(void **state)
{
    struct host_async_table table = open_table();
    struct host_async first = {0}, second = {0};
    uint64_t number;

    (void)state;
    assert_null(host_async_table_find(&table, 0));
    assert_true(host_async_table_enter(&table, &first));
    assert_true(host_async_table_enter(&table, &second));
    number = first.number;
    assert_true(number != 0 && second.number != 0 && number != second.number);
    assert_ptr_equal(host_async_table_find(&table, number), &first);
    assert_ptr_equal(host_async_table_find(&table, second.number), &second);
    assert_null(host_async_table_find(&table, number + HOST_ASYNC_TABLE_MAX));
    assert_null(host_async_table_find(&table, number % HOST_ASYNC_TABLE_MAX));
    host_async_table_leave(&table, &first);
    assert_null(host_async_table_find(&table, number));
    assert_ptr_equal(host_async_table_find(&table, second.number), &second);
    host_async_table_leave(&table, &second);
    host_async_table_close(&table);
}

/* The place is used again, the number is not. */
static void a_place_that_was_left_gives_another_number(void **state)
{
    struct host_async_table table = open_table();
    struct host_async async = {0};
    uint64_t last = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_true(host_async_table_enter(&table, &async));
        assert_true(async.number > last);
        last = async.number;
        host_async_table_leave(&table, &async);
        assert_null(host_async_table_find(&table, last));
    }
    assert_int_equal(table.begun, 1);
    host_async_table_close(&table);
}

static void one_that_has_left_is_as_a_new_one_for_a_cancel(void **state)
{
    struct host_async_table table = open_table();
    struct host_async async = {0}, never = {.call = 5};

    (void)state;
    assert_true(host_async_table_enter(&table, &async));
    async.call = 4;
    async.life = (struct host_life *)(void *)&table;
    async.cancelled = true;
    host_async_table_leave(&table, &async);
    assert_true(async.number == 0 && async.call == 0 && !async.life && !async.cancelled);
    host_async_table_leave(&table, &async);
    host_async_table_leave(&table, &never);
    assert_int_equal(table.own, 0);
    assert_int_equal(never.call, 5);
    host_async_table_close(&table);
}

/* r[verify sec.call.share] */
static void each_kind_of_call_has_its_own_places(void **state)
{
    struct host_async_table table = open_table();
    struct host_async *all = test_calloc(HOST_ASYNC_TABLE_MAX, sizeof *all);
    struct host_async own = {0}, foreign = {.foreign = true};

    (void)state;
    for (int i = 0; i < HOST_ASYNC_TABLE_MAX; i++) {
        all[i].foreign = i < FOREIGN;
        assert_true(host_async_table_enter(&table, &all[i]));
    }
    assert_false(host_async_table_enter(&table, &own));
    assert_false(host_async_table_enter(&table, &foreign));
    assert_true(own.number == 0 && foreign.number == 0);
    host_async_table_leave(&table, &all[0]);
    assert_false(host_async_table_enter(&table, &own));
    assert_true(host_async_table_enter(&table, &foreign));
    host_async_table_leave(&table, &all[FOREIGN]);
    assert_true(host_async_table_enter(&table, &own));
    assert_int_equal(table.own, HOST_ASYNC_TABLE_OWN);
    assert_int_equal(table.foreign, FOREIGN);
    for (int i = 0; i < HOST_ASYNC_TABLE_MAX; i++)
        host_async_table_leave(&table, &all[i]);
    assert_int_equal(table.own + table.foreign, 2);
    test_free(all);
    host_async_table_close(&table);
}

static void no_more_pieces_are_kept_than_a_guest_has_calls(void **state)
{
    struct host_async_table table = open_table();
    struct host_async *more = new_piece();

    (void)state;
    for (int i = 0; i < HUB_CALLS_MAX; i++)
        assert_true(host_async_table_keep(&table, new_piece()));
    assert_int_equal(table.spare_count, HUB_CALLS_MAX);
    assert_false(host_async_table_keep(&table, more));
    assert_int_equal(table.spare_count, HUB_CALLS_MAX);
    free(more);
    host_async_table_close(&table);
}

static void a_spare_piece_is_entered_when_it_is_taken(void **state)
{
    struct host_async_table table = open_table();
    struct host_async *piece = new_piece();

    (void)state;
    assert_null(host_async_table_take(&table));
    assert_int_equal(table.own, 0);
    assert_true(host_async_table_keep(&table, piece));
    assert_ptr_equal(host_async_table_take(&table), piece);
    assert_int_equal(table.spare_count, 0);
    assert_ptr_equal(host_async_table_find(&table, piece->number), piece);
    assert_null(host_async_table_take(&table));
    host_async_table_leave(&table, piece);
    table.own = HOST_ASYNC_TABLE_OWN; /* it is full */
    assert_true(host_async_table_keep(&table, piece));
    assert_null(host_async_table_take(&table));
    assert_int_equal(table.spare_count, 1);
    host_async_table_close(&table);
}

static uint32_t leave_all(struct host_async_table *table, struct host_async *chain)
{
    uint32_t count = 0;

    for (struct host_async *next; chain; chain = next, count++) {
        next = chain->next;
        assert_ptr_equal(host_async_table_find(table, chain->number), chain);
        host_async_table_leave(table, chain);
        assert_true(host_async_table_keep(table, chain));
    }
    return count;
}

static void of_many_spare_pieces_so_many_are_taken_as_are_wanted_or_there(void **state)
{
    struct host_async_table table = open_table();

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_true(host_async_table_keep(&table, new_piece()));
    assert_null(host_async_table_take_some(&table, 0));
    assert_int_equal(leave_all(&table, host_async_table_take_some(&table, 3)), 3);
    assert_int_equal(leave_all(&table, host_async_table_take_some(&table, 6)), 5);
    assert_int_equal(table.spare_count, 5);
    host_async_table_close(&table);
}

static void all_that_are_in_it_may_be_given_up(void **state)
{
    struct host_async_table table = open_table();
    struct host_async all[3] = {{0}};

    (void)state;
    all[1].foreign = true;
    for (int i = 0; i < 3; i++)
        assert_true(host_async_table_enter(&table, &all[i]));
    host_async_table_leave(&table, &all[0]);
    host_async_table_give_up(&table);
    assert_false(all[0].cancelled);
    assert_true(all[1].cancelled && all[2].cancelled);
    host_async_table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_there_is_no_table),
        cmocka_unit_test(a_number_is_of_one_call_until_it_leaves),
        cmocka_unit_test(a_place_that_was_left_gives_another_number),
        cmocka_unit_test(one_that_has_left_is_as_a_new_one_for_a_cancel),
        cmocka_unit_test(each_kind_of_call_has_its_own_places),
        cmocka_unit_test(no_more_pieces_are_kept_than_a_guest_has_calls),
        cmocka_unit_test(a_spare_piece_is_entered_when_it_is_taken),
        cmocka_unit_test(of_many_spare_pieces_so_many_are_taken_as_are_wanted_or_there),
        cmocka_unit_test(all_that_are_in_it_may_be_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
