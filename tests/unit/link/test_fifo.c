/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/link/fifo.h"
#include "tests/support/testing.h"

static void put(struct hub_fifo *fifo, char fill, uint32_t size)
{
    void *to = hub_fifo_reserve(fifo, size);

    assert_non_null(to);
    memset(to, fill, size);
    hub_fifo_commit(fifo, size);
}

static void what_goes_in_comes_out_in_order(void **state)
{
    struct hub_fifo fifo = {0};
    uint8_t in = 0, out = 0;

    (void)state;
    for (uint32_t round = 0; round < 1000; round++) {
        put(&fifo, (char)in++, 1 + round % 97);
        if (round % 3 == 2)
            while (hub_fifo_size(&fifo) > 50) {
                uint8_t first = *hub_fifo_front(&fifo);

                assert_true(first == out || first == (uint8_t)(out + 1));
                out = first;
                hub_fifo_take(&fifo, 1);
            }
    }
    assert_in_range(fifo.capacity, 256,
                    2048); /* it grows with what is in it, not with what passes */
    hub_fifo_fini(&fifo);
}

static void what_is_taken_meanwhile_does_not_move_what_is_reserved(void **state)
{
    struct hub_fifo fifo = {0};
    void *to;

    (void)state;
    put(&fifo, 'a', 10);
    to = hub_fifo_reserve(&fifo, 5);
    hub_fifo_take(&fifo, 10);
    memset(to, 'b', 5);
    hub_fifo_commit(&fifo, 5);
    assert_int_equal(hub_fifo_size(&fifo), 5);
    assert_memory_equal(hub_fifo_front(&fifo), "bbbbb", 5);
    hub_fifo_fini(&fifo);
    assert_int_equal(hub_fifo_size(&fifo), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out_in_order),
        cmocka_unit_test(what_is_taken_meanwhile_does_not_move_what_is_reserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
