/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "host/process/tail.h"
#include "tests/support/testing.h"

static void assert_tail(const struct host_tail *tail, size_t size, const char *wanted)
{
    char text[64];

    assert_in_range(size, 1, sizeof text);
    assert_int_equal(host_tail_read(tail, text, size), strlen(wanted));
    assert_string_equal(text, wanted);
}

static void an_empty_tail_has_nothing(void **state)
{
    struct host_tail tail = {0};

    (void)state;
    assert_tail(&tail, 16, "");
    assert_int_equal(host_tail_size(&tail), 0);
}

static void lines_are_kept_in_order(void **state)
{
    struct host_tail tail = {0};

    (void)state;
    host_tail_add(&tail, 32, "one");
    host_tail_add(&tail, 32, "");
    host_tail_add(&tail, 32, "two");
    assert_tail(&tail, 64, "one\n\ntwo\n");
    assert_int_equal(host_tail_size(&tail), 9);
    host_tail_release(&tail);
}

/* At every place of the ring. r[verify supervise.log.kept] */
static void the_oldest_lines_make_room(void **state)
{
    struct host_tail tail = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        host_tail_add(&tail, 16, "first");
        host_tail_add(&tail, 16, "second");
        assert_in_range(host_tail_size(&tail), 0, 16);
        assert_tail(&tail, 64, i == 0 ? "first\nsecond\n" : "x\nfirst\nsecond\n");
        host_tail_add(&tail, 16, "x");
        assert_tail(&tail, 64, "first\nsecond\nx\n");
    }
    host_tail_release(&tail);
}

static void what_fits_is_read_in_whole_lines(void **state)
{
    struct host_tail tail = {0};

    (void)state;
    host_tail_add(&tail, 32, "first");
    host_tail_add(&tail, 32, "second");
    assert_tail(&tail, 14, "first\nsecond\n");
    assert_tail(&tail, 13, "second\n");
    assert_tail(&tail, 8, "second\n");
    assert_tail(&tail, 6, "cond\n");
    assert_tail(&tail, 1, "");
    assert_int_equal(host_tail_read(&tail, NULL, 0), 0);
    host_tail_release(&tail);
}

static void of_a_line_that_is_too_long_its_end_is_kept(void **state)
{
    struct host_tail tail = {0};

    (void)state;
    host_tail_add(&tail, 8, "before");
    host_tail_add(&tail, 8, "0123456789");
    assert_tail(&tail, 64, "3456789\n");
    host_tail_add(&tail, 8, "a");
    assert_tail(&tail, 64, "a\n");
    host_tail_release(&tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_tail_has_nothing),
        cmocka_unit_test(lines_are_kept_in_order),
        cmocka_unit_test(the_oldest_lines_make_room),
        cmocka_unit_test(what_fits_is_read_in_whole_lines),
        cmocka_unit_test(of_a_line_that_is_too_long_its_end_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
