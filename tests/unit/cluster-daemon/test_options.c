/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/daemon/options.h"
#include "tests/support/testing.h"

#define WORDS 12

static struct daemon_options options;

/* Words after the name of the program. */
static int parse_all(const char *const *words)
{
    char copies[WORDS][80], *argv[WORDS + 2] = {(char[]){"rapahubd"}};
    int argc = 1;

    for (; words[argc - 1]; argc++) {
        snprintf(copies[argc - 1], sizeof copies[0], "%s", words[argc - 1]);
        argv[argc] = copies[argc - 1];
    }
    daemon_options_fini(&options);
    return daemon_options_parse(argc, argv, &options);
}
#define parse(...) parse_all((const char *const[]){__VA_ARGS__, NULL})

static void refuse(int r, const char *why)
{
    assert_int_equal(r, RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, why));
}

/* r[verify cluster.daemon.settings] */
static void values_come_after_a_sign_or_as_the_next_word(void **state)
{
    (void)state;
    assert_int_equal(parse("--data", "/a=b", "--name=n", "--log-level=debug"), 0);
    assert_string_equal(options.settings.data, "/a=b");
    assert_string_equal(options.settings.name, "n");
    assert_int_equal(options.settings.level, RAPAHUB_LOG_DEBUG);
    assert_int_equal(options.role, DAEMON_OPTIONS_PROGRAM);
    assert_int_equal(parse("--data=/x", "--check", "-h", "-V"), 0);
    assert_true(options.check && options.help && options.version);
    assert_int_equal(parse("--config", "f.yaml"), 0);
}

static void what_is_no_option_is_refused(void **state)
{
    (void)state;
    refuse(parse("--dat", "/x"), "did you mean '--data'");
    refuse(parse("--zzzzzzzzzz"), "unknown option '--zzzzzzzzzz'");
    refuse(parse("--zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz=1"),
           "unknown");
    refuse(parse("--data"), "--data has no value");
    refuse(parse("--config"), "--config has no value");
    refuse(parse("--config="), "is no file");
    refuse(parse("--data=/x", "--data=/y"), "--data is given twice");
    refuse(parse("--config=x", "--config=y"), "--config is given twice");
    refuse(parse("extra"), "'extra' is no option");
    refuse(parse("-x"), "'-x' is no option");
    refuse(parse("--"), "'--' is no option");
    refuse(parse("-"), "'-' is no option");
    refuse(parse(""), "'' is no option");
    refuse(parse("--check=1"), "unknown option '--check'");
    refuse(parse("--h"), "unknown option '--h'");
    refuse(parse("--limits-guests", "none"), "--limits-guests: 'none' is no whole number");
}

static void the_other_processes_get_all_that_was_given(void **state)
{
    const struct daemon_options_ties ties = {5, 6, 7, 250};
    struct daemon_options again;
    char **arguments;

    (void)state;
    assert_int_equal(parse("--data", "/d", "--warden-budget=3/10s", "--group", "g:admin"), 0);
    assert_int_equal(daemon_options_arguments(&options, DAEMON_OPTIONS_DAEMON, &ties, &arguments),
                     0);
    assert_string_equal(arguments[0], "rapahubd");
    assert_string_equal(arguments[2], "--data=/d");
    assert_null(arguments[5]);
    assert_int_equal(daemon_options_parse(5, arguments, &again), 0);
    assert_int_equal(again.role, DAEMON_OPTIONS_DAEMON);
    assert_memory_equal(&again.ties, &ties, sizeof ties);
    assert_int_equal(again.settings.deaths_max, 3);
    assert_int_equal(again.settings.members.role, RAPAHUB_CONTROL_ADMIN);
    daemon_options_fini(&again);
    daemon_options_drop(arguments);

    assert_int_equal(daemon_options_arguments(&options, DAEMON_OPTIONS_WARDEN, NULL, &arguments),
                     0);
    assert_string_equal(arguments[0], "rapahub-warden");
    assert_int_equal(daemon_options_parse(5, arguments, &again), 0);
    assert_int_equal(again.role, DAEMON_OPTIONS_WARDEN);
    daemon_options_fini(&again);
    daemon_options_drop(arguments);
    daemon_options_drop(NULL);
}

static void only_whole_ties_are_taken(void **state)
{
    (void)state;
    refuse(parse("--as-daemon="), "for the warden alone");
    refuse(parse("--as-daemon=1:2:3"), "for the warden alone");
    refuse(parse("--as-daemon=1:2:3:4x"), "for the warden alone");
    refuse(parse("--data=/x", "--as-daemon=1:2:3:4"), "unknown option");
    refuse(parse("--data=/x", "--as-warden"), "unknown option");
}

static int close_options(void **state)
{
    (void)state;
    daemon_options_fini(&options);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_after_a_sign_or_as_the_next_word),
        cmocka_unit_test(what_is_no_option_is_refused),
        cmocka_unit_test(the_other_processes_get_all_that_was_given),
        cmocka_unit_test(only_whole_ties_are_taken)};

    return cmocka_run_group_tests(tests, NULL, close_options);
}
