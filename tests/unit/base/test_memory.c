/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/base/memory.h"
#include "hub/base/own.h"
#include "tests/support/testing.h"

/* That it is freed, and once, AddressSanitizer and valgrind see. */
static void released_memory_leaves_the_variable_empty(void **state)
{
    char *text = strdup("text");

    (void)state;
    assert_non_null(text);
    hub_memory_release(&text);
    assert_null(text);
    hub_memory_release(&text);
    assert_null(text);
}

static void a_release_keeps_errno(void **state)
{
    char *text = strdup("text");

    (void)state;
    errno = EXDEV;
    hub_memory_release(&text);
    assert_int_equal(errno, EXDEV);
}

static char *hand_out_of_a_scope(const char *from)
{
    OWN(hub_memory) char *kept = strdup(from);
    OWN(hub_memory) char *lost = strdup(from);

    assert_non_null(lost);
    return TAKE(kept);
}

static void what_is_taken_outlives_its_scope(void **state)
{
    char *text = hand_out_of_a_scope("text");

    (void)state;
    assert_string_equal(text, "text");
    free(text);
}

/* How many of its pages there are. AddressSanitizer's heap may take them all. */
static size_t pages_of(void *memory, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    unsigned char there[64] = {0};
    char *start = (char *)memory - (uintptr_t)memory % page;

    assert_true(size / page < sizeof there);
    assert_int_equal(mincore(start, size, there), 0);
    for (size_t i = 0; i < size / page; i++)
        count += there[i] & 1;
    return count;
}

static void a_large_table_takes_the_pages_that_are_touched(void **state)
{
    const size_t size = 32 * 4096;
    char *table;

    (void)state;
    /* calloc finds this memory on its heap the second time, and clears it */
    for (int i = 0; i < 3; i++) {
        table = hub_memory_sparse(size);
        assert_non_null(table);
        table[5 * 4096] = 1;
#ifndef __SANITIZE_ADDRESS__
        assert_true(pages_of(table, size) <= 2);
#else
        (void)pages_of;
#endif
        hub_memory_free_sparse(table, size);
    }
}

/* A page that is not given back, or one that lies in the part only partly, has what it had. */
static void the_pages_of_a_part_are_given_back(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 16 * page;
    uint8_t *table = hub_memory_sparse(size);
    uint8_t *first = table + (page - (uintptr_t)table % page) % page; /* where a page begins */

    (void)state;
    assert_non_null(table);
    memset(first, 1, 8 * page);
    hub_memory_forget(first + 1, 3 * page); /* two pages, and parts of two others */
    for (size_t at = 0; at < 8 * page; at++)
        assert_int_equal(first[at], at / page == 1 || at / page == 2 ? 0 : 1);
    hub_memory_forget(first + page / 2, page); /* none wholly */
    assert_int_equal(first[page - 1], 1);
    hub_memory_free_sparse(table, size);
}

static void a_table_of_any_size_is_zero(void **state)
{
    static const size_t sizes[] = {1, 100, 8191, 8192, 8193, 100000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *table = hub_memory_sparse(sizes[i]);

        assert_non_null(table);
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal(table[at], 0);
        memset(table, 0xff, sizes[i]);
        hub_memory_free_sparse(table, sizes[i]);
    }
    hub_memory_free_sparse(NULL, 1);
    hub_memory_free_sparse(NULL, 100000);
}

/* Small blocks between them, which stay, would keep the pages of blocks of a heap. */
static void a_large_block_for_a_peer_goes_back_to_the_system(void **state)
{
    enum { COUNT = 32, LARGE = 1000000 };
    void *blocks[COUNT], *small[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = hub_memory_charged(LARGE);
        small[i] = hub_memory_charged(100);
        assert_non_null(blocks[i]);
        assert_non_null(small[i]);
        assert_true((uintptr_t)blocks[i] % 64 == 0 && (uintptr_t)small[i] % 64 == 0);
        memset(blocks[i], 1, LARGE);
    }
    for (int i = 0; i < COUNT; i++) {
        hub_memory_free_charged(blocks[i], LARGE);
#ifndef __SANITIZE_ADDRESS__
        unsigned char there;
        char *page = (char *)blocks[i] + 4096 - (uintptr_t)blocks[i] % 4096;

        assert_int_equal(mincore(page, 1, &there), -1);
        assert_int_equal(errno, ENOMEM); /* nothing is mapped there */
#endif
    }
    for (int i = 0; i < COUNT; i++)
        hub_memory_free_charged(small[i], 100);
    hub_memory_free_charged(NULL, LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_memory_leaves_the_variable_empty),
        cmocka_unit_test(a_release_keeps_errno),
        cmocka_unit_test(what_is_taken_outlives_its_scope),
        cmocka_unit_test(a_large_table_takes_the_pages_that_are_touched),
        cmocka_unit_test(the_pages_of_a_part_are_given_back),
        cmocka_unit_test(a_table_of_any_size_is_zero),
        cmocka_unit_test(a_large_block_for_a_peer_goes_back_to_the_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
