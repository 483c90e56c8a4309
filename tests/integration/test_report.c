/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of the last ends of a child. */
#include "tests/integration/child.h"

static struct rapahub_report report_of(struct lazy *lazy, struct rapahub_child_id child,
                                       unsigned back)
{
    struct rapahub_report report;

    assert_done(rapahub_child_report(lazy->on.host, child, back, &report));
    return report;
}

static void open_child(struct lazy *lazy, struct rapahub_child_id *child)
{
    const struct rapahub_supervision how = {.backoff_first = true, .backoff_initial_ns = 500 * MS};

    open_lazy(lazy, false);
    *child = put(lazy, here, how);
    pid(lazy, here);
}

/* A fault in a method, while another call waits. r[verify supervise.report]
 * r[verify supervise.report.last-words] */
static void a_crash_is_reported(void **state)
{
    const struct rapahub_call fault = {.target = here, .method = "fault()"};
    const struct rapahub_call behind = {.target = here, .method = "pid() -> i32"};
    struct rapahub_child_status before;
    struct rapahub_child_id child;
    struct rapahub_report report;
    struct ending ending = {0};
    struct lazy lazy;
    char text[8192];

    (void)state;
    open_child(&lazy, &child);
    before = status_of(&lazy, child);
    assert_refused(rapahub_child_report(lazy.on.host, child, 0, &report), -ENOENT, "not ended");
    assert_done(rapahub_host_cork(lazy.on.host, here, true));
    assert_done(rapahub_host_call_async(lazy.on.host, &fault, on_done, &ending, NULL));
    assert_done(rapahub_host_call_async(lazy.on.host, &behind, on_done, &ending, NULL));
    assert_done(rapahub_host_cork(lazy.on.host, here, false));
    assert_true(until(&lazy.on, &lazy.on.told.restart, 1));
    report = report_of(&lazy, child, 0);
    assert_int_equal(report.child.number, child.number);
    assert_string_equal(report.name, "calc");
    assert_string_equal(report.module, CALC);
    assert_string_equal(report.state, "ready");
    assert_memory_equal(&report.guest, &before.guest, sizeof report.guest);
    assert_int_equal(report.incarnation, before.incarnation);
    assert_int_equal(report.pid, before.pid);
    assert_int_equal(report.code, -1);
    assert_int_equal(report.signal, SIGSEGV);
    assert_int_equal(report.exit_class, report.core ? RAPAHUB_EXIT_CORE : RAPAHUB_EXIT_SIGNAL);
    assert_string_equal(report.step, "");
    assert_int_equal(report.calls_lost, 2);
    assert_string_equal(report.method, "fault() -> void");
    assert_non_null(strstr(report.cause, "SIGSEGV"));
    assert_ptr_equal(strstr(report.last_words, "last words: signal SIGSEGV at 0x10 in " CALC "+0x"),
                     report.last_words);
    assert_non_null(strstr(report.last_words, ", method calc.fault, request "));
    assert_non_null(strstr(report.log, report.last_words));
    assert_string_equal(report.decision, "backoff");
    assert_in_range(report.due_ns, 200 * MS, 500 * MS);
    assert_int_equal(report.failures, 1);
    assert_int_equal(report.failures_max, 5);
    assert_in_range(report.uptime_ns, 1, 60 * SECOND);
    assert_in_range(report.memory_max, 1 << 20, UINT64_C(1) << 40);
    assert_in_range(report.user_ns + report.system_ns, 1, 60 * SECOND);
    assert_in_range(report.time_ns, UINT64_C(1600000000) * SECOND, UINT64_MAX);
    assert_in_range(rapahub_report_print(&report, text, sizeof text), 200, sizeof text);
    assert_non_null(strstr(text, "calc: ended ready: signal SIGSEGV"));
    assert_non_null(strstr(text, "2 calls lost, the oldest fault() -> void\n"));
    assert_non_null(strstr(text, "then backoff for 0."));
    close_host(&lazy.on);
}

static void an_exit_has_its_status(void **state)
{
    const int32_t three = 3;
    const struct rapahub_call leave = {
        .target = here, .method = "leave(i32)", .arguments = (const void *const[]){&three, NULL}};
    struct rapahub_child_id child;
    struct rapahub_report report;
    struct lazy lazy;

    (void)state;
    open_child(&lazy, &child);
    assert_int_equal(rapahub_host_call(lazy.on.host, &leave, NULL), RAPAHUB_EDIED);
    assert_true(until(&lazy.on, &lazy.on.told.restart, 1));
    report = report_of(&lazy, child, 0);
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_CODE);
    assert_int_equal(report.code, 3);
    assert_int_equal(report.signal, 0);
    assert_string_equal(report.last_words, "");
    assert_done(rapahub_child_stop(lazy.on.host, child, 5 * SECOND));
    assert_done(rapahub_child_start(lazy.on.host, child, 5 * SECOND));
    assert_done(rapahub_child_stop(lazy.on.host, child, 5 * SECOND));
    report = report_of(&lazy, child, 0);
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_CLEAN);
    assert_string_equal(report.state, "stopping");
    assert_string_equal(report.decision, "stopped");
    close_host(&lazy.on);
}

/* r[verify supervise.report.kept] */
static void the_last_eight_are_kept(void **state)
{
    const struct rapahub_supervision how = {.restarts_max = 20, .backoff_initial_ns = RAPAHUB_NONE};
    uint64_t incarnations[10];
    struct rapahub_guest_id lives[10];
    struct rapahub_child_id child, found;
    struct rapahub_report report;
    struct lazy lazy;

    (void)state;
    open_lazy(&lazy, false);
    child = put(&lazy, here, how);
    for (int i = 0; i < 10; i++) {
        pid(&lazy, here);
        lives[i] = status_of(&lazy, child).guest;
        incarnations[i] = status_of(&lazy, child).incarnation;
        die(&lazy);
    }
    pid(&lazy, here);
    for (unsigned back = 0; back < 8; back++)
        assert_int_equal(report_of(&lazy, child, back).incarnation, incarnations[9 - back]);
    assert_refused(rapahub_child_report(lazy.on.host, child, 8, &report), -ENOENT, "too long ago");
    for (int i = 0; i < 10; i++) {
        found.number = 0;
        if (i < 2)
            assert_refused(rapahub_child_of(lazy.on.host, lives[i], &found), RAPAHUB_ESTALE,
                           "no child");
        else
            assert_done(rapahub_child_of(lazy.on.host, lives[i], &found));
        assert_int_equal(found.number, i < 2 ? 0 : child.number);
    }
    assert_done(rapahub_child_of(lazy.on.host, status_of(&lazy, child).guest, &found));
    assert_int_equal(found.number, child.number);
    close_host(&lazy.on);
}

/* r[verify supervise.report] */
static void a_start_that_fails_names_its_step(void **state)
{
    const struct rapahub_guest_options options = {.chimod = CALC};
    struct rapahub_child_id child;
    struct rapahub_report report;
    struct lazy lazy;
    char text[1024];

    (void)state;
    open_host(&lazy.on, (struct rapahub_host_options){.guest_program = "/is/not/there"});
    assert_done(rapahub_host_supervisor(lazy.on.host, &lazy.root));
    assert_done(rapahub_supervisor_add(lazy.root, &options, &child));
    dispatch(&lazy, 50);
    report = report_of(&lazy, child, 0);
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_SPAWN);
    assert_string_equal(report.step, "exec");
    assert_int_equal(report.failure, -ENOENT);
    assert_string_equal(report.state, "starting");
    assert_int_equal(report.pid, 0);
    assert_int_equal(report.guest.peer, 0);
    assert_true(rapahub_report_print(&report, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "failed at the step exec, with -2\n"));
    close_host(&lazy.on);
}

struct asking {
    struct lazy lazy;
    struct rapahub_child_id child;
    struct rapahub_report report;
};

static void ask_at_restart(void *user, const struct rapahub_event *event)
{
    struct asking *asking = user;
    struct rapahub_child_id child;

    if (event->kind != RAPAHUB_EVENT_RESTART)
        return;
    assert_done(rapahub_child_of(asking->lazy.on.host, event->guest, &child));
    assert_done(rapahub_child_report(asking->lazy.on.host, child, 0, &asking->report));
}

static void a_callback_may_ask(void **state)
{
    struct asking asking = {0};

    (void)state;
    open_host(&asking.lazy.on,
              (struct rapahub_host_options){.on_event = ask_at_restart, .user = &asking});
    assert_done(rapahub_host_supervisor(asking.lazy.on.host, &asking.lazy.root));
    asking.child = put(&asking.lazy, here, (struct rapahub_supervision){0});
    pid(&asking.lazy, here);
    die(&asking.lazy);
    dispatch(&asking.lazy, 50);
    assert_int_equal(asking.report.child.number, asking.child.number);
    assert_string_equal(asking.report.decision, "backoff");
    close_host(&asking.lazy.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_reported),
        cmocka_unit_test(an_exit_has_its_status),
        cmocka_unit_test(the_last_eight_are_kept),
        cmocka_unit_test(a_start_that_fails_names_its_step),
        cmocka_unit_test(a_callback_may_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
