/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"
#include "tests/support/testing.h"

static void a_failed_reader_stays_failed_with_the_first_reason(void **state)
{
    const uint8_t data[] = {2, 1, 5};
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, data, sizeof(data));
    hub_postcard_read_bool(&reader);
    assert_non_null(strstr(rapahub_last_error()->text, "bool"));
    assert_false(hub_postcard_read_bool(&reader));
    assert_int_equal(hub_postcard_read_unsigned(&reader, 64), 0);
    assert_int_equal(hub_postcard_read_byte(&reader), 0);
    assert_int_equal(hub_postcard_read_string(&reader).size, 0);
    assert_int_equal(hub_postcard_read_count(&reader, 1), 0);
    assert_int_equal(hub_postcard_read_variant(&reader, 9), 0);
    assert_int_equal(hub_postcard_end(&reader), RAPAHUB_EFORMAT);
    assert_non_null(strstr(rapahub_last_error()->text, "bool"));
}

static void what_failed_at_its_end_has_not_ended_well(void **state)
{
    const uint8_t data[] = {2};
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, data, sizeof data);
    assert_false(hub_postcard_read_bool(&reader));
    assert_int_equal(hub_reader_left(&reader), 0);
    assert_int_equal(hub_postcard_end(&reader), RAPAHUB_EFORMAT);
    assert_non_null(strstr(rapahub_last_error()->text, "bool"));
}

static void a_count_of_nothing_is_bounded_too(void **state)
{
    const uint8_t most[] = {0x80, 0x80, 0x04}, more[] = {0x81, 0x80, 0x04};
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, most, sizeof(most));
    assert_int_equal(hub_postcard_read_count(&reader, 0), 65536);
    hub_reader_init(&reader, more, sizeof(more));
    assert_int_equal(hub_postcard_read_count(&reader, 0), 0);
    assert_int_equal(reader.failure, RAPAHUB_EFORMAT);
}

/* Numbers of each length, with more bytes after them than they need and with none. */
static void numbers_of_each_length_come_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++)
        for (unsigned more = 0; more < 12; more++) {
            uint64_t value = bits == 0 ? 0 : UINT64_C(0xf123456789abcdef) >> (64 - bits), got;
            uint8_t bytes[24] = {0};
            size_t size = hub_postcard_put_at(bytes, value);
            struct hub_reader reader;

            hub_reader_init(&reader, bytes, size + more);
            got = hub_postcard_read_unsigned(&reader, 64);
            assert_int_equal(reader.failure, 0);
            assert_true(got == value);
            assert_int_equal(hub_reader_left(&reader), more);
            hub_reader_init(&reader, bytes, size - 1);
            (void)hub_postcard_read_unsigned(&reader, 64);
            assert_int_not_equal(reader.failure, 0);
        }
}

/* The last of ten bytes is 0 or 1. */
static void a_number_of_more_than_64_bits_is_refused(void **state)
{
    uint8_t bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    struct hub_reader reader;

    (void)state;
    hub_reader_init(&reader, bytes, sizeof bytes);
    assert_true(hub_postcard_read_unsigned(&reader, 64) == UINT64_MAX);
    bytes[9] = 2;
    hub_reader_init(&reader, bytes, sizeof bytes);
    assert_true(hub_postcard_read_unsigned(&reader, 64) == 0);
    assert_int_equal(reader.failure, RAPAHUB_EFORMAT);
    bytes[9] = 0x81;
    hub_reader_init(&reader, bytes, sizeof bytes);
    assert_true(hub_postcard_read_unsigned(&reader, 64) == 0);
    assert_int_equal(reader.failure, RAPAHUB_EFORMAT);
}

static void a_string_that_is_no_utf8_is_not_sent(void **state)
{
    uint8_t data[16];
    struct hub_writer writer;

    (void)state;
    hub_writer_init(&writer, data, sizeof(data));
    hub_postcard_put_string(&writer, rapahub_string_of("\xff"));
    assert_int_equal(writer.failure, -EINVAL);
}

static void utf8_is_what_unicode_says(void **state)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"", true},
        {"plain, and longer than one word of the machine", true},
        {"\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true},
        {"\xed\x9f\xbf\xee\x80\x80", true},
        {"\x80", false},
        {"\xc0\x80", false},
        {"\xc1\xbf", false},
        {"\xc2", false},
        {"\xe0\x9f\xbf", false},
        {"\xed\xa0\x80", false},
        {"\xe2\x82", false},
        {"\xe2\x82\x2c", false},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xf4\x90\x80\x80", false},
        {"\xf5\x80\x80\x80", false},
        {"\xf0\x9f\xa6", false},
        {"\xff", false},
        {"sixteen ASCII by\xfftes", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(hub_postcard_utf8(cases[i].text, strlen(cases[i].text)), cases[i].valid);
    assert_true(hub_postcard_utf8(NULL, 0));
}

static void a_sequence_is_not_read_behind_the_end(void **state)
{
    const char *const texts[] = {"\xc3\xa9", "\xe4\xb8\x96", "\xf0\x9f\xa6\x80"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(hub_postcard_utf8(texts[i], i + 2));
        assert_false(hub_postcard_utf8(texts[i], i + 1));
    }
}

/* r[verify hub.postcard.strict] */
static void a_length_is_written_as_any_number_and_read_again(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 40; bit++) {
        for (int64_t off = -1; off <= 1; off++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)off;
            uint8_t any[10], length[10] = {0};
            size_t size = hub_postcard_put_at(any, value);
            struct hub_reader reader;

            assert_int_equal(hub_postcard_put_length(length, value), size);
            assert_memory_equal(length, any, size);
            hub_reader_init(&reader, length, sizeof length);
            assert_int_equal(hub_postcard_read_unsigned(&reader, 64), value);
            assert_int_equal(hub_reader_left(&reader), sizeof length - size);
        }
    }
}

/* r[verify hub.postcard.strict] */
static void a_short_length_is_read_at_once(void **state)
{
    (void)state;
    for (uint32_t value = 0; value < (UINT32_C(1) << 21) + 1000; value += value < 300 ? 1 : 127) {
        uint8_t length[10] = {0};
        uint32_t size = (uint32_t)hub_postcard_put_length(length, value), bytes, read = 0;

        memcpy(&bytes, length, sizeof bytes);
        assert_int_equal(hub_postcard_read_short(bytes, &read), size == 2 || size == 3 ? size : 0);
        if (size == 2 || size == 3)
            assert_int_equal(read, value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_reader_stays_failed_with_the_first_reason),
        cmocka_unit_test(what_failed_at_its_end_has_not_ended_well),
        cmocka_unit_test(a_count_of_nothing_is_bounded_too),
        cmocka_unit_test(numbers_of_each_length_come_back),
        cmocka_unit_test(a_number_of_more_than_64_bits_is_refused),
        cmocka_unit_test(a_string_that_is_no_utf8_is_not_sent),
        cmocka_unit_test(utf8_is_what_unicode_says),
        cmocka_unit_test(a_sequence_is_not_read_behind_the_end),
        cmocka_unit_test(a_length_is_written_as_any_number_and_read_again),
        cmocka_unit_test(a_short_length_is_read_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
