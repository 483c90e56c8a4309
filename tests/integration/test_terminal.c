/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of a plugin on a terminal and in a pipe. */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define EVIL                \
    "a\x1b]0;x\x07\xc2\x9b" \
    "2J\xe2\x80\xaez\tb"

static const char *const words[] = {PROCESS_RAPAHUB, "call", PROCESS_CHIMOD("echo") ":string", EVIL,
                                    NULL};

/* All that the program writes to a terminal of its own, within 20 s. */
static void run_on_terminal(char *to, size_t size)
{
    size_t at = 0;
    int terminal, status;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    struct pollfd ready = {.fd = terminal, .events = POLLIN};

    assert_true(child >= 0);
    if (child == 0) {
        execv(words[0], (char **)(uintptr_t)words);
        _exit(127);
    }
    while (at + 1 < size && poll(&ready, 1, 20000) > 0) {
        ssize_t n = read(terminal, to + at, size - 1 - at);

        if (n <= 0) /* EIO: no process has the other side any more */
            break;
        at += (size_t)n;
    }
    to[at] = '\0';
    close(terminal);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* r[verify exp.terminal] */
static void a_result_drives_no_terminal(void **state)
{
    char text[4096];

    (void)state;
    run_on_terminal(text, sizeof text);
    assert_non_null(strstr(text, "a\\x1b]0;x\\x07\\xc2\\x9b2J\\xe2\\x80\\xaez\tb"));
    assert_null(strchr(text, '\x1b'));
    assert_null(strstr(text, "\xc2\x9b"));
}

/* r[verify exp.terminal] */
static void a_pipe_gets_it_as_it_is(void **state)
{
    struct process_result result;

    (void)state;
    assert_int_equal(process_run_argv(words, &result), 0);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, EVIL "\n");
    process_result_fini(&result);
}

/* A reader has the very text again. r[verify exp.terminal] */
static void json_has_it_in_words(void **state)
{
    const char *const argv[] = {
        PROCESS_RAPAHUB, "call", "--json", PROCESS_CHIMOD("echo") ":string", EVIL, NULL};
    struct process_result result;

    (void)state;
    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "\"a\\u001b]0;x\\u0007\\u009b2J\\u202ez\\u0009b\""));
    process_result_fini(&result);
}

/* In an error of a method, too. r[verify exp.terminal] */
static void an_error_drives_no_terminal(void **state)
{
    const char *const argv[] = {
        PROCESS_RAPAHUB, "call", PROCESS_CHIMOD("echo") ":fail", "-7", EVIL, NULL};
    struct process_result result;

    (void)state;
    assert_int_equal(process_run_argv(argv, &result), 0);
    assert_non_null(strstr(result.err, "a?]0;x???2J???z?b"));
    process_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_drives_no_terminal),
        cmocka_unit_test(a_pipe_gets_it_as_it_is),
        cmocka_unit_test(json_has_it_in_words),
        cmocka_unit_test(an_error_drives_no_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
