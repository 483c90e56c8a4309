/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "host/control/lines.h"
#include "tests/support/testing.h"

static struct host_lines *new_lines(void)
{
    struct host_lines *lines = NULL;

    assert_int_equal(host_lines_create(&lines), 0);
    return lines;
}

static void lines_are_read_in_the_order_they_came(void **state)
{
    struct host_lines *lines = new_lines();
    struct host_line line;

    (void)state;
    assert_false(host_lines_next(lines, 0, &line));
    host_lines_add(lines, RAPAHUB_LOG_INFO, "guest", "one");
    host_lines_add(lines, RAPAHUB_LOG_ERROR, "guest.calc", "two");
    assert_true(host_lines_next(lines, 0, &line));
    assert_string_equal(line.text, "one");
    assert_int_equal(line.number, 1);
    assert_int_not_equal(line.time_ns, 0);
    assert_true(host_lines_next(lines, line.number, &line));
    assert_string_equal(line.text, "two");
    assert_string_equal(line.topic, "guest.calc");
    assert_int_equal(line.level, RAPAHUB_LOG_ERROR);
    assert_false(host_lines_next(lines, line.number, &line));
    host_lines_release(&lines);
}

static void the_oldest_lines_are_pushed_out(void **state)
{
    struct host_lines *lines = new_lines();
    struct host_line line;
    uint64_t after = 0;
    unsigned count = 0;

    (void)state;
    for (unsigned i = 0; i < HOST_LINES_COUNT + 10; i++) {
        char text[16];

        snprintf(text, sizeof text, "%u", i);
        host_lines_add(lines, RAPAHUB_LOG_INFO, "t", text);
    }
    assert_true(host_lines_next(lines, 0, &line));
    assert_string_equal(line.text, "10");
    assert_int_equal(line.number, 11);
    for (; host_lines_next(lines, after, &line); after = line.number)
        count++;
    assert_int_equal(count, HOST_LINES_COUNT);
    host_lines_release(&lines);
}

static void long_lines_are_cut(void **state)
{
    static char text[HOST_LINES_TEXT * 2], topic[HOST_LINES_TOPIC * 2];
    struct host_lines *lines = new_lines();
    struct host_line line;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    memset(topic, 't', sizeof topic - 1);
    host_lines_add(lines, RAPAHUB_LOG_INFO, topic, text);
    assert_true(host_lines_next(lines, 0, &line));
    assert_int_equal(strlen(line.text), HOST_LINES_TEXT - 1);
    assert_int_equal(strlen(line.topic), HOST_LINES_TOPIC - 1);
    host_lines_release(&lines);
}

#define WRITERS 3
#define WRITTEN 2000

static void *write_lines(void *lines)
{
    for (unsigned i = 0; i < WRITTEN; i++)
        host_lines_add(lines, RAPAHUB_LOG_INFO, "thread", "a line");
    return NULL;
}

static void any_thread_may_add_while_another_reads(void **state)
{
    struct host_lines *lines = new_lines();
    pthread_t writers[WRITERS];
    struct host_line line = {.number = 0};

    (void)state;
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_lines, lines), 0);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t after = line.number;

        if (!host_lines_next(lines, after, &line))
            continue;
        assert_true(line.number > after);
        assert_string_equal(line.text, "a line");
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    while (host_lines_next(lines, line.number, &line))
        ;
    assert_int_equal(line.number, WRITERS * WRITTEN);
    host_lines_release(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_in_the_order_they_came),
        cmocka_unit_test(the_oldest_lines_are_pushed_out),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(any_thread_may_add_while_another_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
