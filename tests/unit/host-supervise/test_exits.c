/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "host/supervise/exits.h"
#include "tests/support/testing.h"

static const struct hub_exit clean = {CLD_EXITED, 0}, three = {CLD_EXITED, 3},
                             aborted = {CLD_EXITED, 134}, killed = {CLD_KILLED, SIGKILL},
                             dumped = {CLD_DUMPED, SIGSEGV}, strange = {CLD_STOPPED, SIGSTOP};

static void the_status_gives_the_class(void **state)
{
    (void)state;
    assert_int_equal(host_exits_class(&clean, HOST_CAUSE_NONE), RAPAHUB_EXIT_CLEAN);
    assert_int_equal(host_exits_class(&three, HOST_CAUSE_NONE), RAPAHUB_EXIT_CODE);
    assert_int_equal(host_exits_class(&aborted, HOST_CAUSE_NONE), RAPAHUB_EXIT_CODE);
    assert_int_equal(host_exits_class(&killed, HOST_CAUSE_NONE), RAPAHUB_EXIT_SIGNAL);
    assert_int_equal(host_exits_class(&dumped, HOST_CAUSE_NONE), RAPAHUB_EXIT_CORE);
    assert_int_equal(host_exits_class(&strange, HOST_CAUSE_NONE), RAPAHUB_EXIT_LOST);
    assert_int_equal(host_exits_class(NULL, HOST_CAUSE_NONE), RAPAHUB_EXIT_LOST);
}

static void a_recorded_cause_counts_where_the_guest_died_of_a_signal(void **state)
{
    static const struct {
        enum host_cause cause;
        enum rapahub_exit_class class;
    } pairs[] = {
        {HOST_CAUSE_START_TIMEOUT, RAPAHUB_EXIT_START_TIMEOUT},
        {HOST_CAUSE_STOP_TIMEOUT, RAPAHUB_EXIT_STOP_TIMEOUT},
        {HOST_CAUSE_WATCHDOG, RAPAHUB_EXIT_WATCHDOG},
        {HOST_CAUSE_PROTOCOL, RAPAHUB_EXIT_PROTOCOL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_int_equal(host_exits_class(&killed, pairs[i].cause), pairs[i].class);
        assert_int_equal(host_exits_class(&dumped, pairs[i].cause), pairs[i].class);
        assert_int_equal(host_exits_class(&aborted, pairs[i].cause), pairs[i].class);
        assert_int_equal(host_exits_class(&clean, pairs[i].cause), RAPAHUB_EXIT_CLEAN);
        assert_int_equal(host_exits_class(&three, pairs[i].cause), RAPAHUB_EXIT_CODE);
        assert_int_equal(host_exits_class(NULL, pairs[i].cause), RAPAHUB_EXIT_LOST);
    }
}

static void what_was_never_started_is_a_failed_spawn_whatever_else_is_known(void **state)
{
    (void)state;
    assert_int_equal(host_exits_class(NULL, HOST_CAUSE_SPAWN), RAPAHUB_EXIT_SPAWN);
    assert_int_equal(host_exits_class(&three, HOST_CAUSE_SPAWN), RAPAHUB_EXIT_SPAWN);
}

static void assert_text(enum rapahub_exit_class class, const struct hub_exit *exit,
                        const char *expected)
{
    char text[64];

    host_exits_print(class, exit, text, sizeof text);
    assert_string_equal(text, expected);
}

static void the_text_names_signal_and_status(void **state)
{
    const struct hub_exit realtime = {CLD_KILLED, 63};

    (void)state;
    assert_text(RAPAHUB_EXIT_CLEAN, &clean, "exit status 0");
    assert_text(RAPAHUB_EXIT_CODE, &three, "exit status 3");
    assert_text(RAPAHUB_EXIT_CODE, &aborted, "exit status 134");
    assert_text(RAPAHUB_EXIT_SIGNAL, &killed, "signal SIGKILL");
    assert_text(RAPAHUB_EXIT_SIGNAL, &realtime, "signal 63");
    assert_text(RAPAHUB_EXIT_CORE, &dumped, "signal SIGSEGV, core dumped");
    assert_text(RAPAHUB_EXIT_SPAWN, NULL, "could not be started");
    assert_text(RAPAHUB_EXIT_WATCHDOG, NULL, "no heartbeat, killed");
    assert_text(RAPAHUB_EXIT_LOST, NULL, "dead, its status taken by somebody else");
}

static void a_text_that_does_not_fit_is_cut(void **state)
{
    char text[8] = "#######";

    (void)state;
    host_exits_print(RAPAHUB_EXIT_SIGNAL, &killed, text, 5);
    assert_string_equal(text, "sign");
    assert_memory_equal(text + 5, "##", 2);
    host_exits_print(RAPAHUB_EXIT_SIGNAL, &killed, text, 1);
    assert_string_equal(text, "");
}

static void the_kind_of_restart_decides_with_the_class(void **state)
{
    (void)state;
    for (int class = RAPAHUB_EXIT_CLEAN; class <= RAPAHUB_EXIT_LOST; class ++) {
        enum rapahub_exit_class c = (enum rapahub_exit_class) class;

        assert_true(host_exits_restart(c, RAPAHUB_RESTART_PERMANENT));
        assert_false(host_exits_restart(c, RAPAHUB_RESTART_TEMPORARY));
        assert_int_equal(host_exits_restart(c, RAPAHUB_RESTART_TRANSIENT), c != RAPAHUB_EXIT_CLEAN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_gives_the_class),
        cmocka_unit_test(a_recorded_cause_counts_where_the_guest_died_of_a_signal),
        cmocka_unit_test(what_was_never_started_is_a_failed_spawn_whatever_else_is_known),
        cmocka_unit_test(the_text_names_signal_and_status),
        cmocka_unit_test(a_text_that_does_not_fit_is_cut),
        cmocka_unit_test(the_kind_of_restart_decides_with_the_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
