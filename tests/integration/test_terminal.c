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

#define WITHIN UINT64_C(20000000000)

static const char *const words[] = {PROCESS_RAPAHUB, "call", PROCESS_CHIMOD("echo") ":string", EVIL,
                                    NULL};

/* Once the program has written `question`, `answer` is typed. */
struct dialogue {
    const char *question, *answer;
};

/* Runs a program on a terminal of its own, within 20 s. `variable`: added to its environment. Both
 * it and `dialogue` may be NULL. Returns its exit status. */
static int run_on_terminal(const char *const *argv, char *variable, const struct dialogue *dialogue,
                           char *to, size_t size)
{
    size_t at = 0;
    int terminal, status;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    struct pollfd ready = {.fd = terminal, .events = POLLIN};

    assert_true(child >= 0);
    if (child == 0) {
        if (variable)
            putenv(variable);
        execv(argv[0], (char **)(uintptr_t)argv);
        _exit(127);
    }
    while (at + 1 < size && poll(&ready, 1, 20000) > 0) {
        ssize_t n = read(terminal, to + at, size - 1 - at);

        if (n <= 0) /* EIO: no process has the other side any more */
            break;
        at += (size_t)n;
        to[at] = '\0';
        if (dialogue && strstr(to, dialogue->question)) {
            assert_int_equal(write(terminal, dialogue->answer, strlen(dialogue->answer)),
                             strlen(dialogue->answer));
            dialogue = NULL;
        }
    }
    to[at] = '\0';
    close(terminal);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* r[verify exp.terminal] */
static void a_result_drives_no_terminal(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(run_on_terminal(words, NULL, NULL, text, sizeof text), 0);
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

/* Only a yes stops it; and the guests of a host that is not stopped run on. */
static void a_host_with_several_guests_is_stopped_when_that_is_confirmed(void **state)
{
    static const char question[] = "stop host 'shop' with its 2 guests? [y/N] ";
    const char *const run[] = {PROCESS_RAPAHUB,
                               "run",
                               "--name",
                               "shop",
                               PROCESS_CHIMOD("echo"),
                               TEST_PREFIX "/bin/counter.so",
                               NULL};
    const char *const stop[] = {PROCESS_RAPAHUB, "stop", "shop", NULL};
    char folder[] = "/tmp/rapahub-terminal-XXXXXX", variable[64], runtime[64], text[4096];
    const char *const variables[] = {variable, NULL};
    const struct process_options options = {.argv = run, .variables = variables};
    struct process_result result;
    struct process host;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(variable, sizeof variable, "XDG_RUNTIME_DIR=%s", folder);
    assert_int_equal(process_start(&options, &host), 0);
    assert_true(process_until_text(&host, "echo: ready", true, WITHIN));
    assert_true(process_until_text(&host, "counter: ready", true, WITHIN));
    assert_int_equal(
        run_on_terminal(stop, variable, &(struct dialogue){question, "n\n"}, text, sizeof text),
        130);
    assert_non_null(strstr(text, "not stopped"));
    assert_int_equal(
        run_on_terminal(stop, variable, &(struct dialogue){question, "\n"}, text, sizeof text),
        130);
    assert_int_equal(
        run_on_terminal(stop, variable, &(struct dialogue){question, "y\n"}, text, sizeof text), 0);
    assert_non_null(strstr(text, question));
    assert_int_equal(process_finish(&host, &result), 0);
    assert_false(result.timed_out);
    process_result_fini(&result);
    snprintf(runtime, sizeof runtime, "%s/rapahub", folder);
    rmdir(runtime);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_drives_no_terminal),
        cmocka_unit_test(a_pipe_gets_it_as_it_is),
        cmocka_unit_test(json_has_it_in_words),
        cmocka_unit_test(an_error_drives_no_terminal),
        cmocka_unit_test(a_host_with_several_guests_is_stopped_when_that_is_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
