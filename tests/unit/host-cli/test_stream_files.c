/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/target/stream_files.h"
#include "tests/support/testing.h"

/* "@" and a new file with these bytes. */
static const char *file_of(const char *bytes)
{
    static char path[64];
    int fd;

    snprintf(path, sizeof path, "@/tmp/rapahub-test-XXXXXX");
    fd = mkstemp(path + 1);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    close(fd);
    return path;
}

static void a_file_is_read_and_another_one_written(void **state)
{
    struct cli_stream_files files = {0};
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    char path[64], got[8] = "";
    int fd;

    (void)state;
    snprintf(path, sizeof path, "%s", file_of("abc"));
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_source, path, &source), 0);
    assert_int_equal(rapahub_source_read(source, got, 8), 3);
    assert_string_equal(got, "abc");
    unlink(path + 1);
    snprintf(path, sizeof path, "%s", file_of("what was there"));
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_sink, path, &sink), 0);
    assert_int_equal(rapahub_sink_write(sink, "xy", 2), 0);
    assert_false(files.to_stdout);
    cli_stream_files_fini(&files);
    fd = open(path + 1, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, got, 8), 2);
    close(fd);
    unlink(path + 1);
}

/* The file is intact after the refusal. */
static void one_file_is_not_read_and_written_at_once(void **state)
{
    struct cli_stream_files files = {0};
    const char *path = file_of("precious");
    struct stat status;
    void *stream;

    (void)state;
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_source, path, &stream), 0);
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_sink, path, &stream),
                     RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "another stream's file"));
    assert_int_equal(stat(path + 1, &status), 0);
    assert_int_equal(status.st_size, 8);
    cli_stream_files_fini(&files);
    unlink(path + 1);
}

static void what_is_no_file_is_refused_with_the_way_to_write_it(void **state)
{
    struct cli_stream_files files = {0};
    void *stream;

    (void)state;
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_source, "a.log", &stream),
                     RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "@a.log, or - for standard input"));
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_source, "@/no/such", &stream),
                     -ENOENT);
    assert_int_equal(files.count, 0);
}

static void standard_output_is_known_to_be_taken(void **state)
{
    struct cli_stream_files files = {0};
    void *stream;

    (void)state;
    assert_int_equal(cli_stream_files_add(&files, &rapahub_type_sink, "-", &stream), 0);
    assert_true(files.to_stdout);
    cli_stream_files_fini(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_and_another_one_written),
        cmocka_unit_test(one_file_is_not_read_and_written_at_once),
        cmocka_unit_test(what_is_no_file_is_refused_with_the_way_to_write_it),
        cmocka_unit_test(standard_output_is_known_to_be_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
