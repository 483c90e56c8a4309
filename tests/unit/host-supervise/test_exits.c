/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include <rapahub/error.h>

#include "host/supervise/exits.h"
#include "tests/support/testing.h"

static const struct hub_exit clean = {CLD_EXITED, 0}, three = {CLD_EXITED, 3},
                             aborted = {CLD_EXITED, 134}, killed = {CLD_KILLED, SIGKILL},
                             dumped = {CLD_DUMPED, SIGSEGV}, limited = {CLD_KILLED, SIGXCPU},
                             strange = {CLD_STOPPED, SIGSTOP};

/* r[verify supervise.exit.class] */
static void the_status_gives_the_class(void **state)
{
    (void)state;
    assert_int_equal(host_exits_class(&clean, HOST_CAUSE_NONE), RAPAHUB_EXIT_CLEAN);
    assert_int_equal(host_exits_class(&three, HOST_CAUSE_NONE), RAPAHUB_EXIT_CODE);
    assert_int_equal(host_exits_class(&aborted, HOST_CAUSE_NONE), RAPAHUB_EXIT_CODE);
    assert_int_equal(host_exits_class(&killed, HOST_CAUSE_NONE), RAPAHUB_EXIT_SIGNAL);
    assert_int_equal(host_exits_class(&dumped, HOST_CAUSE_NONE), RAPAHUB_EXIT_CORE);
    assert_int_equal(host_exits_class(&limited, HOST_CAUSE_NONE), RAPAHUB_EXIT_LIMIT);
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
        {HOST_CAUSE_OOM, RAPAHUB_EXIT_OOM},
        {HOST_CAUSE_STOP_TIMEOUT, RAPAHUB_EXIT_STOP_TIMEOUT},
        {HOST_CAUSE_WATCHDOG, RAPAHUB_EXIT_WATCHDOG},
        {HOST_CAUSE_PROTOCOL, RAPAHUB_EXIT_PROTOCOL},
        {HOST_CAUSE_STALL, RAPAHUB_EXIT_WATCHDOG},
        {HOST_CAUSE_OVERRUN, RAPAHUB_EXIT_WATCHDOG},
        {HOST_CAUSE_PROBE, RAPAHUB_EXIT_WATCHDOG},
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
    assert_text(RAPAHUB_EXIT_LIMIT, &limited, "signal SIGXCPU");
    assert_text(RAPAHUB_EXIT_SPAWN, NULL, "could not be started");
    assert_text(RAPAHUB_EXIT_WATCHDOG, NULL, "no heartbeat, killed");
    assert_text(RAPAHUB_EXIT_LOST, NULL, "dead, its status taken by somebody else");
}

static void a_text_that_does_not_fit_is_cut(void **state)
{
    char text[8] = "#######", whole[17] = "################";

    (void)state;
    host_exits_print(RAPAHUB_EXIT_SIGNAL, &killed, whole, 14); /* one less than it takes */
    assert_string_equal(whole, "signal SIGKIL");
    assert_memory_equal(whole + 14, "##", 2);
    host_exits_print(RAPAHUB_EXIT_SIGNAL, &killed, whole, 15);
    assert_string_equal(whole, "signal SIGKILL");
    assert_memory_equal(whole + 15, "#", 1);
    host_exits_print(RAPAHUB_EXIT_SIGNAL, &killed, text, 5);
    assert_string_equal(text, "sign");
    assert_memory_equal(text + 5, "##", 2);
    host_exits_print(RAPAHUB_EXIT_SIGNAL, &killed, text, 1);
    assert_string_equal(text, "");
}

static struct host_exit_rules rules_of(const struct rapahub_supervision *how)
{
    struct host_exit_rules rules;

    assert_int_equal(host_exits_take("kv", how, &rules), 0);
    return rules;
}

/* A bit for each class that calls for another life. */
static uint32_t mask_of(enum rapahub_restart restart)
{
    struct host_exit_rules rules =
        rules_of(&(struct rapahub_supervision){.restart = restart, .restart_mask = 0x1001});
    uint32_t mask = 0;

    for (int class = RAPAHUB_EXIT_CLEAN; class <= RAPAHUB_EXIT_LINK; class ++) {
        enum rapahub_exit_class c = (enum rapahub_exit_class) class;

        if (host_exits_judge(&rules, NULL, &c) == HOST_EXIT_RESTART)
            mask |= 1u << class;
    }
    return mask;
}

/* r[verify supervise.restart] */
static void the_kind_of_restart_decides_with_the_class(void **state)
{
    (void)state;
    assert_int_equal(mask_of(RAPAHUB_RESTART_PERMANENT), 0x1fff);
    assert_int_equal(mask_of(RAPAHUB_RESTART_TRANSIENT), 0x1ffe);
    assert_int_equal(mask_of(RAPAHUB_RESTART_TEMPORARY), 0);
    assert_int_equal(mask_of(RAPAHUB_RESTART_ON_SUCCESS), 1);
    assert_int_equal(mask_of(RAPAHUB_RESTART_ON_ABNORMAL), 0xbfc);
    assert_int_equal(mask_of(RAPAHUB_RESTART_ON_WATCHDOG), 0x80);
    assert_int_equal(mask_of(RAPAHUB_RESTART_ON_ABORT), 0x0c);
    assert_int_equal(mask_of(RAPAHUB_RESTART_MASK), 0x1001);
}

static enum host_exit_verdict judged(const struct host_exit_rules *rules,
                                     const struct hub_exit *exit)
{
    enum rapahub_exit_class class = host_exits_class(exit, HOST_CAUSE_NONE);

    return host_exits_judge(rules, exit, &class);
}

/* r[verify supervise.exit.codes] */
static void named_statuses_and_signals_come_before_the_class(void **state)
{
    static const uint16_t done[] = {RAPAHUB_STATUS(3), 0},
                          never[] = {RAPAHUB_STATUS(134), RAPAHUB_SIGNAL(SIGSEGV), 0},
                          always[] = {RAPAHUB_STATUS(0), RAPAHUB_SIGNAL(SIGKILL), 0};
    const struct hub_exit stop = {CLD_EXITED, 125};
    struct host_exit_rules rules = rules_of(&(struct rapahub_supervision){0});

    (void)state;
    assert_int_equal(judged(&rules, &stop), HOST_EXIT_PREVENTED);
    assert_int_equal(judged(&rules, &aborted), HOST_EXIT_RESTART);
    rules = rules_of(&(struct rapahub_supervision){.restart = RAPAHUB_RESTART_TRANSIENT,
                                                   .success_exit = done,
                                                   .prevent_exit = never,
                                                   .force_exit = always});
    assert_int_equal(judged(&rules, &three), HOST_EXIT_OVER);
    assert_int_equal(judged(&rules, &clean), HOST_EXIT_RESTART);
    assert_int_equal(judged(&rules, &stop), HOST_EXIT_RESTART);
    assert_int_equal(judged(&rules, &aborted), HOST_EXIT_PREVENTED);
    assert_int_equal(judged(&rules, &dumped), HOST_EXIT_PREVENTED);
    assert_int_equal(judged(&rules, &killed), HOST_EXIT_RESTART);
}

/* The last signal of the kernel counts as any other. */
static void the_last_signal_is_one(void **state)
{
    static const uint16_t never[] = {RAPAHUB_SIGNAL(64), 0};
    const struct hub_exit last = {CLD_KILLED, 64}, before = {CLD_KILLED, 63};
    struct host_exit_rules rules = rules_of(&(struct rapahub_supervision){.prevent_exit = never});

    (void)state;
    assert_int_equal(judged(&rules, &last), HOST_EXIT_PREVENTED);
    assert_int_equal(judged(&rules, &before), HOST_EXIT_RESTART);
}

static void what_is_no_status_and_no_signal_is_refused(void **state)
{
    static const uint16_t wrong[] = {7, 0}, beyond[] = {RAPAHUB_SIGNAL(65), 0};
    struct host_exit_rules rules;

    (void)state;
    assert_int_equal(
        host_exits_take("kv", &(struct rapahub_supervision){.force_exit = wrong}, &rules),
        RAPAHUB_EINVAL);
    assert_int_equal(
        host_exits_take("kv", &(struct rapahub_supervision){.success_exit = beyond}, &rules),
        RAPAHUB_EINVAL);
    assert_int_equal(host_exits_take("kv",
                                     &(struct rapahub_supervision){.restart = RAPAHUB_RESTART_MASK},
                                     &rules),
                     RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "supervise.lint.values");
}

/* r[verify supervise.oom] */
static void one_without_memory_is_given_up_where_its_options_say_so(void **state)
{
    const struct rapahub_supervision stop = {.oom_policy = RAPAHUB_OOM_STOP}, on = {0};
    enum rapahub_exit_class class = host_exits_class(&killed, HOST_CAUSE_OOM);
    struct host_exit_rules rules;

    (void)state;
    assert_int_equal(class, RAPAHUB_EXIT_OOM);
    assert_int_equal(host_exits_take("a", &on, &rules), 0);
    assert_int_equal(host_exits_judge(&rules, &killed, &class), HOST_EXIT_RESTART);
    assert_int_equal(host_exits_take("a", &stop, &rules), 0);
    assert_int_equal(host_exits_judge(&rules, &killed, &class), HOST_EXIT_PREVENTED);
    class = RAPAHUB_EXIT_SIGNAL;
    assert_int_equal(host_exits_judge(&rules, &killed, &class), HOST_EXIT_RESTART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_without_memory_is_given_up_where_its_options_say_so),
        cmocka_unit_test(the_status_gives_the_class),
        cmocka_unit_test(a_recorded_cause_counts_where_the_guest_died_of_a_signal),
        cmocka_unit_test(what_was_never_started_is_a_failed_spawn_whatever_else_is_known),
        cmocka_unit_test(the_text_names_signal_and_status),
        cmocka_unit_test(a_text_that_does_not_fit_is_cut),
        cmocka_unit_test(the_kind_of_restart_decides_with_the_class),
        cmocka_unit_test(named_statuses_and_signals_come_before_the_class),
        cmocka_unit_test(the_last_signal_is_one),
        cmocka_unit_test(what_is_no_status_and_no_signal_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
