/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/stream_ids.h"
#include "tests/support/testing.h"

static const struct rapahub_type *const types[] = {&rapahub_type_source, &rapahub_type_string,
                                                   &rapahub_type_sink, NULL};

/* r[verify channeling.type] */
static void streams_are_marked_and_get_their_ids_later(void **state)
{
    struct rapahub_string text = {"abc", 3};
    void *source = &text, *sink = &source;
    const void *const values[] = {&source, &text, &sink, NULL};
    const uint64_t ids[] = {300, 2};
    uint64_t found[2];
    struct hub_stream_marks marks, again;
    struct hub_writer writer;
    uint8_t bytes[64], with[84];
    size_t size;

    (void)state;
    hub_writer_init(&writer, bytes, sizeof bytes);
    hub_stream_ids_put(&writer, types, values, &marks);
    assert_int_equal(writer.size, 6);
    assert_memory_equal(bytes, "\0\3abc\0", 6);
    assert_int_equal(marks.count, 2);
    assert_ptr_equal(marks.list[0].stream, source);
    assert_ptr_equal(marks.list[1].stream, sink);
    assert_false(marks.list[0].is_sink);
    assert_true(marks.list[1].is_sink);
    size = hub_stream_ids_fill((struct rapahub_bytes){bytes, 6}, &marks, ids, with);
    assert_int_equal(size, 7);
    assert_memory_equal(with, "\xac\2\3abc\2", 7);
    assert_int_equal(hub_stream_ids_find(types, (struct rapahub_bytes){with, size}, &again, found),
                     0);
    assert_int_equal(found[0], 300);
    assert_int_equal(found[1], 2);
    assert_int_equal(again.list[0].size, 2);
    assert_int_equal(again.list[1].at, 6);
    assert_int_equal(hub_stream_ids_fill((struct rapahub_bytes){with, size}, &again,
                                         (const uint64_t[]){1, 1}, bytes),
                     6);
    assert_memory_equal(bytes, "\1\3abc\1", 6);
}

static void arguments_that_cannot_be_read_have_no_ids(void **state)
{
    struct hub_stream_marks marks;
    uint64_t ids[16];

    (void)state;
    assert_true(hub_stream_ids_find(types, (struct rapahub_bytes){"\1\3ab", 4}, &marks, ids) < 0);
    assert_true(hub_stream_ids_find(types, (struct rapahub_bytes){"\1\1a\2x", 5}, &marks, ids) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_marked_and_get_their_ids_later),
        cmocka_unit_test(arguments_that_cannot_be_read_have_no_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
