/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/base/far.h"
#include "tests/support/testing.h"

#define LINE  64
#define EDGE  (2 * LINE) /* bytes on either side that are to stay */
#define SIZES (5 * LINE)

static void check_copy(void (*copy)(void *to, const void *from, size_t size), size_t lead,
                       size_t size)
{
    static _Alignas(LINE) uint8_t to[EDGE + LINE + SIZES + EDGE];
    uint8_t from[1 + SIZES];

    memset(to, 0xee, sizeof to);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 % 229);
    copy(to + EDGE + lead, from + lead % 2, size);
    assert_memory_equal(to + EDGE + lead, from + lead % 2, size);
    for (size_t i = 0; i < EDGE + lead; i++)
        assert_int_equal(to[i], 0xee);
    for (size_t i = EDGE + lead + size; i < sizeof to; i++)
        assert_int_equal(to[i], 0xee);
}

/* Wherever in a line they begin and end. */
static void all_bytes_come_and_none_beside_them(void **state)
{
    (void)state;
    for (size_t lead = 0; lead < LINE; lead += 3) {
        for (size_t size = 0; size <= SIZES; size++) {
            check_copy(hub_far_stream, lead, size);
            check_copy(hub_far_copy, lead, size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_come_and_none_beside_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
