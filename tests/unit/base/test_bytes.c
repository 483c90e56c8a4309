/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "tests/support/testing.h"

static void a_reader_knows_what_is_left(void **state)
{
    const uint8_t bytes[] = {1, 2, 3, 4};
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, bytes, sizeof bytes);
    assert_int_equal(hub_reader_left(&reader), 4);
    reader.at += 3;
    assert_int_equal(hub_reader_left(&reader), 1);
    hub_reader_init(&reader, NULL, 0);
    assert_int_equal(hub_reader_left(&reader), 0);
    assert_int_equal(reader.failure, 0);
}

static void a_writer_puts_bytes_one_behind_the_other(void **state)
{
    uint8_t room[8] = {0};
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, room, sizeof room);
    hub_writer_put(&writer, "abc", 3);
    hub_writer_byte(&writer, 'd');
    hub_writer_put(&writer, NULL, 0);
    assert_int_equal(writer.size, 4);
    assert_int_equal(writer.failure, 0);
    assert_memory_equal(room, "abcd\0\0\0\0", 8);
}

static void a_writer_fills_its_room_to_the_last_byte_and_no_further(void **state)
{
    uint8_t room[5] = {0};
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, room, 4);
    hub_writer_put(&writer, "abcd", 4);
    assert_int_equal(writer.failure, 0);
    hub_writer_byte(&writer, 'e');
    assert_int_equal(writer.failure, -EMSGSIZE);
    assert_int_equal(writer.size, 4);
    assert_memory_equal(room, "abcd\0", 5);
}

/* Else a part of what did not fit would follow on a gap. */
static void a_writer_that_failed_once_takes_nothing_more(void **state)
{
    uint8_t room[4] = {0};
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, room, sizeof room);
    hub_writer_put(&writer, "abcde", 5);
    hub_writer_byte(&writer, 'x');
    assert_int_equal(writer.failure, -EMSGSIZE);
    assert_int_equal(writer.size, 0);
    assert_int_equal(room[0], 0);
}

static void a_counting_writer_counts_and_writes_nothing(void **state)
{
    struct hub_writer writer;

    (void)state;
    hub_writer_count(&writer);
    hub_writer_put(&writer, "abc", 3);
    hub_writer_byte(&writer, 0);
    assert_int_equal(writer.size, 4);
    assert_int_equal(writer.failure, 0);
}

static void a_count_cannot_wrap(void **state)
{
    struct hub_writer writer;

    (void)state;
    hub_writer_count(&writer);
    hub_writer_put(&writer, "abc", 3);
    hub_writer_put(&writer, "", SIZE_MAX - 2);
    assert_int_equal(writer.failure, -EMSGSIZE);
    assert_int_equal(writer.size, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_knows_what_is_left),
        cmocka_unit_test(a_writer_puts_bytes_one_behind_the_other),
        cmocka_unit_test(a_writer_fills_its_room_to_the_last_byte_and_no_further),
        cmocka_unit_test(a_writer_that_failed_once_takes_nothing_more),
        cmocka_unit_test(a_counting_writer_counts_and_writes_nothing),
        cmocka_unit_test(a_count_cannot_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
