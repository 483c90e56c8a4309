/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/check.h"
#include "tests/support/testing.h"

/* Runs `body` in a child whose standard error is read to `text`: how the child ended. */
static int end_of(void (*body)(void), char *text, size_t size)
{
    const struct rlimit no_core = {0, 0};
    int ends[2], status = 0;
    size_t got = 0;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        (void)setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL); /* cmocka's handler would jump back into the test */
        body();
        _exit(0);
    }
    close(ends[1]);
    while (got < size - 1 && (n = read(ends[0], text + got, size - 1 - got)) > 0)
        got += (size_t)n;
    text[got] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void check_what_holds(void)
{
    CHECK(1 + 1 == 2);
    ENSURE(1 + 1 == 2);
}

static void check_what_does_not(void)
{
    CHECK(1 + 1 == 3);
}

static void ensure_what_does_not(void)
{
    ENSURE(1 + 1 == 4);
}

static void what_holds_goes_on_in_silence(void **state)
{
    char text[512];
    int status = end_of(check_what_holds, text, sizeof text);

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(text, "");
}

static void a_broken_promise_of_the_caller_is_logged_and_aborts(void **state)
{
    char text[512];
    int status = end_of(check_what_does_not, text, sizeof text);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "error check: "));
    assert_non_null(strstr(text, "test_check.c:"));
    assert_non_null(strstr(text, "does not hold: 1 + 1 == 3\n"));
}

static void a_broken_promise_of_our_own_is_logged_and_aborts(void **state)
{
    char text[512];
    int status = end_of(ensure_what_does_not, text, sizeof text);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "does not hold: 1 + 1 == 4\n"));
}

static void what_is_checked_is_looked_at_once(void **state)
{
    int looks = 0;

    (void)state;
    CHECK(++looks > 0);
    ENSURE(++looks > 0);
    assert_int_equal(looks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_holds_goes_on_in_silence),
        cmocka_unit_test(a_broken_promise_of_the_caller_is_logged_and_aborts),
        cmocka_unit_test(a_broken_promise_of_our_own_is_logged_and_aborts),
        cmocka_unit_test(what_is_checked_is_looked_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
