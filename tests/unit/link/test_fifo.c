/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/channel/fifo.h"
#include "tests/support/testing.h"

#define MUCH (UINT32_C(1) << 24) /* bytes that no test writes */

/* Bytes that count on from *next. */
static void put(struct hub_fifo *fifo, uint8_t *next, uint32_t size)
{
    assert_true(hub_fifo_reserve(fifo, size));
    for (uint32_t at = 0; at < size;) {
        uint32_t run;
        uint8_t *to = hub_fifo_room(fifo, at, &run);

        for (; run > 0 && at < size; run--, at++)
            *to++ = (*next)++;
    }
    hub_fifo_commit(fifo, size);
}

static void get(struct hub_fifo *fifo, uint8_t *next, uint32_t size)
{
    while (size > 0) {
        uint32_t there;
        const uint8_t *from = hub_fifo_lend(fifo, &there);

        assert_non_null(from);
        if (there > size)
            there = size;
        for (uint32_t i = 0; i < there; i++)
            assert_int_equal(from[i], (*next)++);
        hub_fifo_pop(fifo, there);
        size -= there;
    }
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return __real_aligned_alloc(alignment, size < MUCH ? size : alignment); /* it is not written */
}

static void a_fifo_holds_half_of_what_its_indices_count(void **state)
{
    struct hub_fifo fifo = {0};

    (void)state;
    assert_false(hub_fifo_reserve(&fifo, (UINT32_C(1) << 31) + 1));
    assert_true(hub_fifo_reserve(&fifo, UINT32_C(1) << 31));
    assert_int_equal(fifo.capacity, UINT32_C(1) << 31);
    hub_fifo_fini(&fifo);
}

static void what_goes_in_comes_out_in_order(void **state)
{
    struct hub_fifo fifo = {0};
    uint8_t in = 0, out = 0;

    (void)state;
    for (uint32_t round = 0; round < 1000; round++) {
        put(&fifo, &in, 1 + round % 97);
        if (round % 3 == 2 && hub_fifo_size(&fifo) > 50)
            get(&fifo, &out, hub_fifo_size(&fifo) - 50);
    }
    get(&fifo, &out, hub_fifo_size(&fifo));
    assert_int_equal(in, out);
    assert_int_equal(fifo.capacity, 512); /* it grows with what is in it, not with what passes */
    hub_fifo_fini(&fifo);
}

static void what_is_taken_meanwhile_does_not_move_what_is_reserved(void **state)
{
    struct hub_fifo fifo = {0};
    uint8_t in = 0, out = 0, *to;
    uint32_t run;

    (void)state;
    put(&fifo, &in, 10);
    assert_true(hub_fifo_reserve(&fifo, 5));
    to = hub_fifo_room(&fifo, 0, &run);
    get(&fifo, &out, 10);
    assert_ptr_equal(hub_fifo_room(&fifo, 0, &run), to);
    memset(to, 'b', 5);
    hub_fifo_commit(&fifo, 5);
    assert_int_equal(hub_fifo_size(&fifo), 5);
    assert_memory_equal(hub_fifo_lend(&fifo, &run), "bbbbb", 5);
    hub_fifo_fini(&fifo);
    assert_int_equal(hub_fifo_size(&fifo), 0);
}

static void what_is_lent_stays_while_it_grows(void **state)
{
    struct hub_fifo fifo = {0};
    uint8_t in = 0, out = 0;
    const uint8_t *lent;
    uint32_t size;

    (void)state;
    put(&fifo, &in, 200);
    get(&fifo, &out, 100);
    put(&fifo, &in, 150); /* over the end of the ring */
    lent = hub_fifo_lend(&fifo, &size);
    assert_int_equal(size, 156);
    for (int i = 0; i < 4; i++) /* grows more than once */
        put(&fifo, &in, 1000);
    for (uint32_t i = 0; i < size; i++)
        assert_int_equal(lent[i], out++);
    hub_fifo_pop(&fifo, size);
    get(&fifo, &out, hub_fifo_size(&fifo));
    assert_int_equal(in, out);
    hub_fifo_fini(&fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fifo_holds_half_of_what_its_indices_count),
        cmocka_unit_test(what_goes_in_comes_out_in_order),
        cmocka_unit_test(what_is_taken_meanwhile_does_not_move_what_is_reserved),
        cmocka_unit_test(what_is_lent_stays_while_it_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
