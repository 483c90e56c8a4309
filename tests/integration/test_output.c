/* SPDX-License-Identifier: Apache-2.0 */
/* The output of guests: line by line, escaped, bounded, and never lost at a death. */
#include <stdlib.h>

#include "tests/integration/hosting.h"

static void print(struct hosting *on, const char *text)
{
    const struct rapahub_string line = rapahub_string_of(text);

    assert_done(ask(on, "print(string)", (const void *const[]){&line, NULL}, NULL));
}

static void each_line_is_an_event(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    print(&on, "one\ntwo\nthr");
    print(&on, "ee\n");
    assert_true(until(&on, &on.told.output, 3));
    assert_non_null(strstr(on.told.text, "output calc one; output calc two; output calc three; "));
    close_host(&on);
}

static void control_characters_are_escaped(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    print(&on, "a\x1b[31mb\xc2\x9b\tc \xc3\xa4\n");
    assert_true(until(&on, &on.told.output, 1));
    assert_non_null(strstr(on.told.text, "output calc a\\x1b[31mb\\xc2\\x9b\tc \xc3\xa4; "));
    close_host(&on);
}

static void a_long_line_is_cut(void **state)
{
    char *text = malloc(30002);
    struct hosting on;

    (void)state;
    memset(text, 'x', 30000);
    memcpy(text + 30000, "\n", 2);
    open_calc(&on);
    print(&on, text);
    assert_true(until(&on, &on.told.output, 1));
    assert_in_range(strlen(strstr(on.told.text, "output")), 8000, 8300);
    free(text);
    close_host(&on);
}

/* The flood is not delivered, and delays no one. */
static void too_many_lines_are_counted_only(void **state)
{
    char *text = malloc(40001);
    struct hosting on;
    int64_t sum;

    (void)state;
    for (size_t i = 0; i < 20000; i++)
        memcpy(text + 2 * i, "y\n", 3);
    open_calc(&on);
    for (int i = 0; i < 20; i++)
        print(&on, text);
    assert_true(until(&on, &on.told.output, 200));
    assert_done(add(&on, 1, 2, &sum));
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_in_range(on.told.output, 200, 2000);
    assert_non_null(strstr(on.told.text, "more lines within a second"));
    free(text);
    close_host(&on);
}

static void the_last_words_come_before_the_death(void **state)
{
    const char *output, *down;
    struct hosting on;

    (void)state;
    open_calc(&on);
    print(&on, "no end of line");
    assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.down, 1));
    output = strstr(on.told.text, "output calc no end of line");
    down = strstr(on.told.text, "down calc");
    assert_true(output && down && output < down);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_an_event),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(too_many_lines_are_counted_only),
        cmocka_unit_test(the_last_words_come_before_the_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
