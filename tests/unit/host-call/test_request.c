/* SPDX-License-Identifier: Apache-2.0 */
/* An answer shown in place is described only by its guest's words. */
#include <string.h>

#include <rapahub/host.h>

#include "host/call/request.h"
#include "tests/support/testing.h"

#define SIZE 300

static _Alignas(64) uint8_t lines[64 + SIZE + 8];
static uint8_t *shown;

/* No metadata, OK, and a length; its last byte stands before a line. */
static bool take(uint32_t size, const char *head, size_t head_size, struct rapahub_bytes *out)
{
    struct hub_answer answer = {.size = size};

    shown = lines + 64 - head_size;
    answer.view = (struct hub_view){.data = shown, .size = size};
    memset(lines, 0x5a, sizeof lines);
    memcpy(shown, head, head_size);
    *out = (struct rapahub_bytes){NULL, 0};
    return host_request_decode_shown(&answer, &rapahub_type_bytes, out);
}

#define TAKE(size, head, out) take(size, head, sizeof(head) - 1, out)

/* r[verify hub.view.release] */
static void bytes_lie_where_they_are_shown(void **state)
{
    struct rapahub_bytes out;

    (void)state;
    assert_true(TAKE(SIZE, "\0\0\xa8\x02", &out)); /* 296 */
    assert_ptr_equal(out.data, shown + 4);
    assert_int_equal(out.size, SIZE - 4);
    assert_true(TAKE(SIZE, "\0\0\xa7\x82\x00", &out)); /* 295, longer than need be */
    assert_ptr_equal(out.data, shown + 5);
    assert_int_equal(out.size, SIZE - 5);
}

/* They are copied to where they do. r[verify hub.bytes.align] */
static void bytes_that_begin_at_no_line_are_not_shown(void **state)
{
    struct hub_answer answer = {.size = SIZE};
    struct rapahub_bytes out = {NULL, 0};

    (void)state;
    memset(lines, 0x5a, sizeof lines);
    for (size_t at = 0; at < 64; at++) {
        memcpy(lines + at, "\0\0\xa8\x02", 4);
        answer.view.data = lines + at;
        assert_int_equal(host_request_decode_shown(&answer, &rapahub_type_bytes, &out), at == 60);
        memcpy(lines + at, "\0\0\xa7\x82", 5);
        assert_int_equal(host_request_decode_shown(&answer, &rapahub_type_bytes, &out), at == 59);
    }
}

/* Nothing beyond what was checked is ever shown. */
static void another_length_than_what_is_there_is_refused(void **state)
{
    struct rapahub_bytes out;

    (void)state;
    assert_false(TAKE(SIZE, "\0\0\xa9\x02", &out));
    assert_false(TAKE(SIZE, "\0\0\xa7\x02", &out));
    assert_false(TAKE(SIZE, "\0\0\xff\xff\x7f", &out));
    assert_false(TAKE(SIZE, "\0\0\xa8\x82\x00", &out));
    assert_false(TAKE(SIZE, "\0\0\xff\xff\xff\xff\x0f", &out));
    assert_false(TAKE(SIZE, "\0\0\x05", &out));
    assert_null(out.data);
}

static void what_is_no_result_is_refused(void **state)
{
    struct rapahub_bytes out;

    (void)state;
    assert_false(TAKE(SIZE, "\0\1\xa8\x02", &out)); /* a failure */
    assert_false(TAKE(SIZE, "\1\0\xa8\x02", &out)); /* metadata that is none */
    assert_false(TAKE(255, "\0\0\xfb\x01", &out));  /* too small to be looked at so */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_lie_where_they_are_shown),
        cmocka_unit_test(bytes_that_begin_at_no_line_are_not_shown),
        cmocka_unit_test(another_length_than_what_is_there_is_refused),
        cmocka_unit_test(what_is_no_result_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
