/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

static void output_and_status_are_captured(void **state)
{
    const char *argv[] = {"sh", "-c", "echo one; echo two >&2; exit 3", NULL};
    struct leak *leak = leak_begin();
    struct process_result result;

    (void)state;
    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_int_equal(result.status, 3);
    assert_int_equal(result.signal, 0);
    assert_string_equal(result.out, "one\n");
    assert_string_equal(result.err, "two\n");
    assert_false(result.timed_out);
    process_result_fini(&result);
    leak_assert_none(leak);
}

static void input_variables_and_folder_reach_the_program(void **state)
{
    const char *argv[] = {"sh", "-c", "cat; echo $HOME $WORD; pwd", NULL};
    const char *variables[] = {"HOME=/nowhere", "WORD=hub", NULL};
    struct process_options options = {
        .argv = argv, .variables = variables, .input = "text ", .folder = "/proc"};
    struct process_result result;

    (void)state;
    assert_int_equal(process_run(&options, &result), 0);
    assert_string_equal(result.out, "text /nowhere hub\n/proc\n");
    process_result_fini(&result);
}

static void a_variable_is_replaced_not_repeated(void **state)
{
    const char *argv[] = {"env", NULL};
    const char *variables[] = {"PATH=/bin:/usr/bin", NULL};
    struct process_options options = {.argv = argv, .variables = variables};
    struct process_result result;
    const char *first;

    (void)state;
    assert_int_equal(process_run(&options, &result), 0);
    first = strstr(result.out, "\nPATH=");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\nPATH="));
    process_result_fini(&result);
}

static void a_program_that_does_not_end_is_killed_at_its_deadline(void **state)
{
    struct process_options options = {.argv = (const char *[]){"tail", "-f", "/dev/null", NULL},
                                      .within_ns = 50 * HUB_MILLISECOND};
    struct process_result result;

    (void)state;
    assert_int_equal(process_run(&options, &result), 0);
    assert_true(result.timed_out);
    assert_int_equal(result.signal, SIGKILL);
    assert_int_equal(result.status, -1);
    process_result_fini(&result);
}

static void a_text_is_waited_for_and_the_program_killed(void **state)
{
    const char *argv[] = {"sh", "-c", "echo ready >&2; exec tail -f /dev/null", NULL};
    struct process_options options = {.argv = argv};
    struct leak *leak = leak_begin();
    struct process_result result;
    struct process process;

    (void)state;
    assert_int_equal(process_start(&options, &process), 0);
    assert_true(process_until_text(&process, "ready", true, 10 * HUB_SECOND));
    assert_false(process_until_text(&process, "never", false, 10 * HUB_MILLISECOND));
    assert_int_equal(process_kill(&process, SIGTERM), 0);
    assert_int_equal(process_finish(&process, &result), 0);
    assert_int_equal(result.signal, SIGTERM);
    assert_false(result.timed_out);
    process_result_fini(&result);
    leak_assert_none(leak);
}

static void more_output_than_is_kept_does_not_block_the_program(void **state)
{
    const char *argv[] = {"head", "-c", "3000000", "/dev/zero", NULL};
    struct process_result result;

    (void)state;
    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_int_equal(result.status, 0);
    assert_int_equal(result.out_size, PROCESS_OUTPUT_MAX);
    process_result_fini(&result);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
    const char *argv[] = {"/nowhere/at-all", NULL};
    struct leak *leak = leak_begin();
    struct process_result result;

    (void)state;
    assert_int_equal(process_run_argv(argv, &result), -ENOENT);
    leak_assert_none(leak);
}

static void descriptors_of_the_test_do_not_reach_the_program(void **state)
{
    const char *argv[] = {"ls", "/proc/self/fd", NULL};
    struct process_result result;

    (void)state;
    assert_int_equal(close_range(3, ~0U, CLOSE_RANGE_CLOEXEC), 0);
    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_string_equal(result.out, "0\n1\n2\n3\n");
    process_result_fini(&result);
}

static bool third_time(void *user)
{
    unsigned *times = user;

    return ++*times == 3;
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static void a_condition_is_waited_for_with_a_deadline(void **state)
{
    unsigned times = 0;

    (void)state;
    assert_true(process_until(third_time, &times, 10 * HUB_SECOND));
    assert_int_equal(times, 3);
    assert_false(process_until(never, NULL, 5 * HUB_MILLISECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status_are_captured),
        cmocka_unit_test(input_variables_and_folder_reach_the_program),
        cmocka_unit_test(a_variable_is_replaced_not_repeated),
        cmocka_unit_test(a_program_that_does_not_end_is_killed_at_its_deadline),
        cmocka_unit_test(a_text_is_waited_for_and_the_program_killed),
        cmocka_unit_test(more_output_than_is_kept_does_not_block_the_program),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error),
        cmocka_unit_test(descriptors_of_the_test_do_not_reach_the_program),
        cmocka_unit_test(a_condition_is_waited_for_with_a_deadline),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
