/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "tests/support/testing.h"

#define LINES 200

struct caught {
    unsigned count;
    bool inside;
    enum rapahub_log_level level;
    char topic[64];
    char text[9000];
};

static void catch_line(void *user, enum rapahub_log_level level, const char *topic,
                       const char *text)
{
    struct caught *caught = user;

    assert_false(caught->inside);
    caught->inside = true;
    caught->count++;
    caught->level = level;
    snprintf(caught->topic, sizeof caught->topic, "%s", topic);
    snprintf(caught->text, sizeof caught->text, "%s", text);
    caught->inside = false;
}

static int back_to_default(void **state)
{
    (void)state;
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
    return 0;
}

static void a_line_reaches_the_sink_with_level_and_topic(void **state)
{
    struct caught caught = {0};

    (void)state;
    rapahub_log_to(catch_line, &caught, RAPAHUB_LOG_INFO);
    rapahub_log(RAPAHUB_LOG_INFO, "guest", "%s died %d times", "kv", 3);
    assert_int_equal(caught.count, 1);
    assert_int_equal(caught.level, RAPAHUB_LOG_INFO);
    assert_string_equal(caught.topic, "guest");
    assert_string_equal(caught.text, "kv died 3 times");
}

static void lines_below_the_level_are_not_made(void **state)
{
    struct caught caught = {0};

    (void)state;
    rapahub_log_to(catch_line, &caught, RAPAHUB_LOG_WARN);
    rapahub_log(RAPAHUB_LOG_DEBUG, "t", "x");
    rapahub_log(RAPAHUB_LOG_INFO, "t", "x");
    assert_int_equal(caught.count, 0);
    rapahub_log(RAPAHUB_LOG_WARN, "t", "x");
    rapahub_log(RAPAHUB_LOG_ERROR, "t", "x");
    assert_int_equal(caught.count, 2);
}

/* Text of a guest must not make lines of its own, nor move the terminal's cursor. */
static void control_characters_become_question_marks(void **state)
{
    struct caught caught = {0};

    (void)state;
    rapahub_log_to(catch_line, &caught, RAPAHUB_LOG_ERROR);
    rapahub_log(RAPAHUB_LOG_ERROR, "t", "%s", "a\nerror host: false\x1b[2J\x7f\xc3\xa4\xc2\x9b!");
    assert_string_equal(caught.text, "a?error host: false?[2J?\xc3\xa4?"
                                     "?!");
}

static void a_long_line_is_cut(void **state)
{
    static char text[20000];
    struct caught caught = {0};

    (void)state;
    memset(text, 'x', sizeof text - 1);
    rapahub_log_to(catch_line, &caught, RAPAHUB_LOG_ERROR);
    rapahub_log(RAPAHUB_LOG_ERROR, "t", "%s", text);
    assert_int_equal(strlen(caught.text), 8191);
}

static void a_line_keeps_errno(void **state)
{
    struct caught caught = {0};

    (void)state;
    rapahub_log_to(catch_line, &caught, RAPAHUB_LOG_ERROR);
    errno = EXDEV;
    rapahub_log(RAPAHUB_LOG_ERROR, "t", "x");
    assert_int_equal(errno, EXDEV);
}

/* Puts a pipe in the place of standard error: its other end. */
static int divert(int *kept)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    *kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
    return ends[0];
}

static void restore(int kept)
{
    dup2(kept, STDERR_FILENO);
    close(kept);
}

static void without_a_sink_warnings_and_errors_go_to_standard_error(void **state)
{
    char text[256] = "";
    int kept, end = divert(&kept);

    (void)state;
    rapahub_log(RAPAHUB_LOG_WARN, "guest", "one");
    rapahub_log(RAPAHUB_LOG_INFO, "guest", "two");
    rapahub_log(RAPAHUB_LOG_ERROR, "guest", "three");
    restore(kept);
    assert_true(read(end, text, sizeof text - 1) > 0);
    close(end);
    assert_string_equal(text, "warn guest: one\nerror guest: three\n");
}

static void a_long_line_on_standard_error_still_ends_its_line_once(void **state)
{
    static char text[20000], seen[20000];
    int kept, end = divert(&kept);
    ssize_t n;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    rapahub_log(RAPAHUB_LOG_ERROR, "t", "%s", text);
    restore(kept);
    n = read(end, seen, sizeof seen);
    close(end);
    assert_true(n > 8191 && n < 8300);
    assert_ptr_equal(memchr(seen, '\n', (size_t)n), seen + n - 1);
}

static void a_topic_on_standard_error_is_cut_and_escaped_too(void **state)
{
    static char topic[400], text[20000], seen[20000];
    int kept, end = divert(&kept);
    ssize_t n;

    (void)state;
    memset(topic, 't', sizeof topic - 1);
    memset(text, 'x', sizeof text - 1);
    memcpy(topic, "\033[2J\n", 5);
    rapahub_log(RAPAHUB_LOG_ERROR, topic, "%s", text);
    restore(kept);
    n = read(end, seen, sizeof seen);
    close(end);
    assert_true(n > 8191);
    assert_memory_equal(seen, "error ?[2J?tt", 13);
    assert_ptr_equal(memchr(seen, '\n', (size_t)n), seen + n - 1);
}

static void *chatter(void *user)
{
    for (int i = 0; i < LINES; i++)
        rapahub_log(RAPAHUB_LOG_ERROR, "t", "%s %d", (const char *)user, i);
    return NULL;
}

/* The sink has no lock of its own: ThreadSanitizer would see two lines at once. */
static void threads_log_one_line_at_a_time(void **state)
{
    struct caught caught = {0};
    char names[4][8] = {"a", "b", "c", "d"};
    pthread_t threads[4];

    (void)state;
    rapahub_log_to(catch_line, &caught, RAPAHUB_LOG_ERROR);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, chatter, names[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(caught.count, 4 * LINES);
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(rapahub_log_level_name(RAPAHUB_LOG_ERROR), "error");
    assert_string_equal(rapahub_log_level_name(RAPAHUB_LOG_WARN), "warn");
    assert_string_equal(rapahub_log_level_name(RAPAHUB_LOG_INFO), "info");
    assert_string_equal(rapahub_log_level_name(RAPAHUB_LOG_DEBUG), "debug");
    assert_string_equal(rapahub_log_level_name((enum rapahub_log_level)77), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_line_reaches_the_sink_with_level_and_topic, back_to_default),
        cmocka_unit_test_teardown(lines_below_the_level_are_not_made, back_to_default),
        cmocka_unit_test_teardown(control_characters_become_question_marks, back_to_default),
        cmocka_unit_test_teardown(a_long_line_is_cut, back_to_default),
        cmocka_unit_test_teardown(a_line_keeps_errno, back_to_default),
        cmocka_unit_test(without_a_sink_warnings_and_errors_go_to_standard_error),
        cmocka_unit_test(a_long_line_on_standard_error_still_ends_its_line_once),
        cmocka_unit_test(a_topic_on_standard_error_is_cut_and_escaped_too),
        cmocka_unit_test_teardown(threads_log_one_line_at_a_time, back_to_default),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
