/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/process/output.h"
#include "tests/support/testing.h"

struct seen {
    struct host_loop loop;
    struct host_output output;
    int ends[2];
    unsigned lines;
    char last[HOST_OUTPUT_LINE], before[HOST_OUTPUT_LINE];
};

static void on_line(void *user, const char *line)
{
    struct seen *seen = user;

    seen->lines++;
    memcpy(seen->before, seen->last, sizeof seen->last);
    strncat(memset(seen->last, 0, sizeof seen->last), line, sizeof seen->last - 1);
}

static struct seen *set_up(void)
{
    struct seen *seen = calloc(1, sizeof *seen);

    assert_non_null(seen);
    assert_int_equal(host_loop_init(&seen->loop, 4), 0);
    assert_int_equal(host_output_open(&seen->output, &seen->loop, seen->ends), 0);
    seen->output.on_line = on_line;
    seen->output.user = seen;
    assert_int_equal(host_output_watch(&seen->output), 0);
    return seen;
}

static void tear_down(struct seen *seen)
{
    close(seen->ends[0]);
    close(seen->ends[1]);
    host_output_close(&seen->output);
    host_loop_fini(&seen->loop);
    free(seen);
}

static void print(const struct seen *seen, int end, const char *text)
{
    size_t size = strlen(text);

    assert_int_equal(write(seen->ends[end], text, size), size);
}

static void lines_are_handed_on_when_they_end(void **state)
{
    struct seen *seen = set_up();

    (void)state;
    print(seen, 0, "on");
    assert_int_equal(host_loop_turn(&seen->loop, 0), 1);
    assert_int_equal(seen->lines, 0);
    print(seen, 0, "e\ntwo\nthree");
    print(seen, 1, "other\n");
    assert_int_equal(host_loop_turn(&seen->loop, 0), 2);
    assert_int_equal(seen->lines, 3);
    assert_string_equal(seen->before, "two");
    assert_string_equal(seen->last, "other");
    tear_down(seen);
}

static void the_end_of_a_pipe_ends_its_line(void **state)
{
    struct seen *seen = set_up();
    char last[64];

    (void)state;
    print(seen, 0, "no end");
    assert_false(host_output_finish(&seen->output));
    close(seen->ends[0]);
    close(seen->ends[1]);
    assert_true(host_output_finish(&seen->output));
    assert_string_equal(seen->last, "no end");
    host_output_last(&seen->output, last, sizeof last);
    assert_string_equal(last, "no end");
    seen->ends[0] = seen->ends[1] = -1;
    tear_down(seen);
}

static void a_long_line_is_cut(void **state)
{
    char *text = malloc(20001);
    struct seen *seen = set_up();

    (void)state;
    memset(text, 'x', 20000);
    text[20000] = '\0';
    print(seen, 0, text);
    print(seen, 0, "\nnext\n");
    assert_int_equal(host_loop_turn(&seen->loop, 0), 1);
    assert_int_equal(seen->lines, 2);
    assert_in_range(strlen(seen->before), HOST_OUTPUT_LINE - 8, HOST_OUTPUT_LINE);
    assert_string_equal(seen->last, "next");
    free(text);
    tear_down(seen);
}

static void a_flood_is_counted(void **state)
{
    struct seen *seen = set_up();
    char last[64];

    (void)state;
    for (int i = 0; i < 999; i++)
        print(seen, 0, "y\n");
    print(seen, 0, "z\x01\n");
    host_output_finish(&seen->output);
    assert_int_equal(seen->lines, 201);
    assert_string_equal(seen->last, "(800 more lines within a second)");
    host_output_last(&seen->output, last, sizeof last);
    assert_string_equal(last, "z\\x01");
    tear_down(seen);
}

static void control_characters_and_broken_text_are_escaped(void **state)
{
    char to[64];

    (void)state;
    host_output_escape("a\x1b\x7f\xc2\x85\xff\xc3\xa4\t!", 10, to, sizeof to);
    assert_string_equal(to, "a\\x1b\\x7f\\xc2\\x85\\xff\xc3\xa4\t!");
    host_output_escape("abcdefgh", 8, to, 6);
    assert_string_equal(to, "abcde");
    host_output_escape("\xe2\x82", 2, to, sizeof to);
    assert_string_equal(to, "\\xe2\\x82");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_handed_on_when_they_end),
        cmocka_unit_test(the_end_of_a_pipe_ends_its_line),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(a_flood_is_counted),
        cmocka_unit_test(control_characters_and_broken_text_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
