/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/base/streaming_copy.h"
#include "tests/support/testing.h"

#define LINE  64
#define EDGE  (2 * LINE) /* bytes on either side that are to stay */
#define SIZES (5 * LINE)
#define PAGE  4096
#define MUCH  32761

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
            check_copy(hub_streaming_copy_stream, lead, size);
            check_copy(hub_streaming_copy_lines, lead, size);
        }
    }
}

static void fetch(void *to, const void *from, size_t size)
{
    hub_streaming_copy_fetch(to, from, size);
}

static void check_much(void (*copy)(void *to, const void *from, size_t size), size_t lead,
                       size_t size)
{
    static _Alignas(PAGE) uint8_t to[2 * PAGE + MUCH + EDGE], from[PAGE + MUCH];

    assert_true(size <= MUCH);
    memset(to, 0xee, sizeof to);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 7 % 229);
    copy(to + PAGE + lead, from + 3, size);
    assert_memory_equal(to + PAGE + lead, from + 3, size);
    assert_int_equal(to[PAGE + lead - 1], 0xee);
    assert_int_equal(to[PAGE + lead + size], 0xee);
}

/* More bytes than are prefetched; shortly after `from` in its page, and not. */
static void much_comes_whole_wherever_it_lies(void **state)
{
    static const size_t leads[] = {1, 3, 4, 16, 66, 67, 2048};
    static const size_t sizes[] = {3072, 3200, 4096, 8191, 8192, 8193, 20000, MUCH};

    (void)state;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            check_much(hub_streaming_copy_lines, leads[i], sizes[k]);
            check_much(fetch, leads[i], sizes[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_come_and_none_beside_them),
        cmocka_unit_test(much_comes_whole_wherever_it_lies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
