/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/stream.h>

#include "tests/support/testing.h"

static void a_sink_of_memory_keeps_what_is_written_up_to_its_bound(void **state)
{
    struct rapahub_sink *sink;
    size_t size;

    (void)state;
    assert_int_equal(rapahub_sink_of_memory(10, &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "hello ", 6), 0);
    assert_int_equal(rapahub_sink_write(sink, "you", 3), 0);
    assert_int_equal(rapahub_sink_write(sink, "!!", 2), -EMSGSIZE);
    assert_memory_equal(rapahub_sink_data(sink, &size), "hello you", 9);
    assert_int_equal(size, 9);
    rapahub_sink_destroy(sink);
    rapahub_sink_destroy(NULL);
}

static void a_source_of_memory_ends_where_the_memory_does(void **state)
{
    struct rapahub_source *source;
    char bytes[8];

    (void)state;
    assert_int_equal(rapahub_source_of_memory("abcdef", 6, &source), 0);
    assert_int_equal(rapahub_source_read_all(source, bytes, 4), 0);
    assert_memory_equal(bytes, "abcd", 4);
    assert_int_equal(rapahub_source_read(source, bytes, 8), 2);
    assert_int_equal(rapahub_source_read(source, bytes, 8), 0);
    assert_int_equal(rapahub_source_read_all(source, bytes, 1), RAPAHUB_ERESET);
    rapahub_source_destroy(source);
}

static void bytes_cross_a_pipe_that_does_not_block(void **state)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    char bytes[6];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(rapahub_source_of_fd(ends[0], &source), 0);
    assert_int_equal(rapahub_sink_of_fd(ends[1], &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "stream", 6), 0);
    assert_int_equal(rapahub_source_read_all(source, bytes, 6), 0);
    assert_memory_equal(bytes, "stream", 6);
    close(ends[1]);
    assert_int_equal(rapahub_source_read(source, bytes, 6), 0);
    close(ends[0]);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
}

static void a_bad_descriptor_is_named(void **state)
{
    struct rapahub_source *source;
    char byte;

    (void)state;
    assert_int_equal(rapahub_source_of_fd(9999, &source), 0);
    assert_int_equal(rapahub_source_read(source, &byte, 1), -EBADF);
    assert_non_null(strstr(rapahub_last_error()->text, "9999"));
    rapahub_source_destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sink_of_memory_keeps_what_is_written_up_to_its_bound),
        cmocka_unit_test(a_source_of_memory_ends_where_the_memory_does),
        cmocka_unit_test(bytes_cross_a_pipe_that_does_not_block),
        cmocka_unit_test(a_bad_descriptor_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
