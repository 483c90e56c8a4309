/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "host/observe/report.h"
#include "host/process/life.h"
#include "hub/call/call_table.h"
#include "tests/unit/host-observe/stage.h"

/* A life that nobody started. */
static struct host_life *open_life(struct host_guest *guest)
{
    struct host_life *life = test_calloc(1, sizeof *life);
    static struct hub_mutex lock;

    life->guest = guest;
    life->id = guest->id = (struct rapahub_guest_id){.group = 1, .epoch = 2, .peer = 3};
    life->process.pid = 77;
    assert_int_equal(hub_calls_create(1, &life->connection.calls), 0);
    hub_mutex_init(&lock, HUB_MUTEX_TASKS);
    life->connection.calls->lock = &lock;
    return life;
}

static void close_life(struct host_life *life)
{
    hub_mutex_fini(life->connection.calls->lock);
    hub_calls_release(&life->connection.calls);
    test_free(life);
}

static struct host_end an_end(void)
{
    return (struct host_end){.class = RAPAHUB_EXIT_SIGNAL, .cause = "signal SIGSEGV", .rule = ""};
}

static struct rapahub_report report_of(struct host_observe *host, const struct host_guest *guest,
                                       unsigned back)
{
    struct rapahub_report report;

    assert_int_equal(rapahub_child_report(handle(host), id_of(guest), back, &report), 0);
    return report;
}

/* r[verify supervise.report] */
static void an_end_is_kept_with_all_that_is_known_of_it(void **state)
{
    static const struct hub_exit killed = {CLD_KILLED, 11};
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    struct host_life *life = open_life(guest);
    struct host_end end = an_end();
    struct rapahub_report report;

    (void)state;
    end.exit = &killed;
    end.rule = "shm.slot.free";
    end.uptime_ns = 4;
    end.calls_lost = 5;
    life->exit.usage = (struct hub_usage){.user_ns = 6, .system_ns = 7, .memory_max = 8};
    snprintf(life->process.output.words, sizeof life->process.output.words, "last words: x");
    host_tail_add(&guest->tail, 100, "a line");
    guest->failure.step = "exec"; /* of a start, which this is not */
    guest->failure.verdict.code = -1;
    host_report_ended(guest, life, &end);
    report = report_of(host, guest, 0);
    assert_int_equal(report.child.number, id_of(guest).number);
    assert_string_equal(report.name, "calc");
    assert_string_equal(report.module, "/lib/chimod.so");
    assert_string_equal(report.build_id, "");
    assert_string_equal(report.state, "ready");
    assert_int_equal(report.guest.peer, 3);
    assert_int_equal(report.incarnation, guest->child.incarnation);
    assert_int_equal(report.pid, 77);
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_SIGNAL);
    assert_int_equal(report.code, -1);
    assert_int_equal(report.signal, 11);
    assert_false(report.core);
    assert_int_equal(report.failure, 0);
    assert_string_equal(report.step, "");
    assert_string_equal(report.rule, "shm.slot.free");
    assert_string_equal(report.cause, "signal SIGSEGV");
    assert_true(report.time_ns > 0 && report.time_ns <= hub_clock_wall());
    assert_int_equal(report.uptime_ns, 4);
    assert_int_equal(report.calls_lost, 5);
    assert_int_equal(report.user_ns, 6);
    assert_int_equal(report.system_ns, 7);
    assert_int_equal(report.memory_max, 8);
    assert_string_equal(report.method, "");
    assert_string_equal(report.last_words, "last words: x");
    assert_string_equal(report.log, "a line\n");
    assert_string_equal(report.decision, "");
    close_life(life);
    observe_free(host);
}

static void a_status_a_signal_and_a_core_are_told_apart(void **state)
{
    static const struct hub_exit exited = {CLD_EXITED, 3}, dumped = {CLD_DUMPED, 6};
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    struct host_end end = an_end();
    struct rapahub_report report;

    (void)state;
    end.exit = &exited;
    host_report_ended(guest, NULL, &end);
    report = report_of(host, guest, 0);
    assert_true(report.code == 3 && report.signal == 0 && !report.core);
    end.exit = &dumped;
    host_report_ended(guest, NULL, &end);
    report = report_of(host, guest, 0);
    assert_true(report.code == -1 && report.signal == 6 && report.core);
    end.exit = NULL;
    host_report_ended(guest, NULL, &end);
    report = report_of(host, guest, 0);
    assert_true(report.code == -1 && report.signal == 0 && !report.core);
    observe_free(host);
}

static void a_start_that_failed_is_kept_with_its_step_and_code(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = stage_add(&host->supervision, HOST_SUPERVISION_ROOT, "calc", eager);
    struct host_end end = an_end();
    struct rapahub_report report;

    (void)state;
    end.class = RAPAHUB_EXIT_SPAWN;
    guest->failure.step = "exec";
    guest->failure.verdict.code = RAPAHUB_ENOENT;
    host_report_ended(guest, NULL, &end);
    report = report_of(host, guest, 0);
    assert_string_equal(report.step, "exec");
    assert_int_equal(report.failure, RAPAHUB_ENOENT);
    assert_string_equal(report.state, "starting");
    assert_int_equal(report.pid, 0);
    assert_int_equal(report.guest.peer, 0);
    guest->failure.step = NULL;
    host_report_ended(guest, NULL, &end);
    report = report_of(host, guest, 0);
    assert_string_equal(report.step, "");
    observe_free(host);
}

/* Who is killed by its host is stopping then; but it was not asked to. */
static void the_state_is_that_before_the_host_ended_it(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    struct host_life *life = open_life(guest);
    const struct host_end end = an_end();

    (void)state;
    host_supervision_leaving(guest, "it is killed");
    assert_int_equal(stage_child(guest)->state, HOST_CHILD_STOPPING);
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).state, "starting");
    life->startup.ready_seen = true;
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).state, "attached");
    life->ready_ns = 1;
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).state, "ready");
    hub_publish(&life->goodbye.leaving, 1);
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).state, "stopping");
    close_life(life);
    observe_free(host);
}

/* r[verify supervise.report.last-words] */
static void the_oldest_call_that_was_lost_is_named_where_it_is_known(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    struct host_life *life = open_life(guest);
    struct host_end end = an_end();

    (void)state;
    guest->methods = host_methods_create();
    assert_int_equal(host_methods_add_lines(guest->methods, rapahub_string_of("nap(u32) -> void")),
                     0);
    end.calls_lost = 1;
    life->connection.calls->lost_method = 1; /* no method of it */
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).method, "");
    life->connection.calls->lost_method = guest->methods->list[0]->id;
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).method, "nap(u32) -> void");
    end.calls_lost = 0;
    host_report_ended(guest, life, &end);
    assert_string_equal(report_of(host, guest, 0).method, "");
    close_life(life);
    observe_free(host);
}

/* r[verify supervise.report.kept] */
static void the_last_ends_are_kept_and_no_more(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    struct host_end end = an_end();
    struct rapahub_report report = {.pid = 7};

    (void)state;
    assert_int_equal(rapahub_child_report(handle(host), id_of(guest), 0, &report), RAPAHUB_ENOENT);
    for (unsigned i = 1; i <= HOST_REPORT_KEPT + 2; i++) {
        unsigned kept = i < HOST_REPORT_KEPT ? i : HOST_REPORT_KEPT;

        end.uptime_ns = i;
        host_report_ended(guest, NULL, &end);
        assert_int_equal(report_of(host, guest, 0).uptime_ns, i);
        assert_int_equal(report_of(host, guest, kept - 1).uptime_ns, i - kept + 1);
        assert_int_equal(rapahub_child_report(handle(host), id_of(guest), kept, &report),
                         RAPAHUB_ENOENT);
    }
    assert_int_equal(report.pid, 7);
    observe_free(host);
}

static void a_guest_that_is_nobodys_child_has_no_report(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = stage_enter(&host->supervision, "anonymous");
    struct host_guest *closed =
        stage_add(&host->supervision, HOST_SUPERVISION_ROOT, "closed", manual);
    const struct rapahub_child_id id = id_of(closed);
    const struct host_end end = an_end();
    struct rapahub_report report;

    (void)state;
    host_report_ended(guest, NULL, &end);
    assert_null(guest->ends.reports);
    host_report_ended(closed, NULL, &end);
    assert_int_equal(rapahub_child_report(handle(host), id, 0, &report), 0);
    host_supervision_end(closed);
    assert_int_equal(rapahub_child_report(handle(host), id, 0, &report), RAPAHUB_ESTALE);
    observe_free(host);
}

/* r[verify supervise.report] */
static void what_was_decided_completes_the_last_report_once(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    const struct host_end end = an_end();
    struct host_decision decision = {.kind = HOST_DECISION_MOVED,
                                     .place = guest->child.node,
                                     .from = HOST_CHILD_READY,
                                     .to = HOST_CHILD_BACKOFF,
                                     .class = RAPAHUB_EXIT_CLEAN,
                                     .due_ns = hub_clock_now() + 3600 * HUB_SECOND};
    struct rapahub_report report;

    (void)state;
    decision.from = HOST_CHILD_EXITED;
    host_report_decided(guest, &decision); /* it has not ended yet */
    host_report_ended(guest, NULL, &end);
    decision.from = HOST_CHILD_READY;
    host_report_decided(guest, &decision);
    assert_string_equal(report_of(host, guest, 0).decision, "");
    decision.from = HOST_CHILD_EXITED;
    assert_true(host_budget_spend(&stage_child(guest)->budget, hub_clock_now()));
    host_report_decided(guest, &decision);
    report = report_of(host, guest, 0);
    assert_string_equal(report.decision, "backoff");
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_CLEAN);
    assert_int_equal(report.failures, 1);
    assert_int_equal(report.failures_max, 5);
    assert_true(report.due_ns > 0 && report.due_ns <= 3600 * HUB_SECOND);
    decision.to = HOST_CHILD_FAILED;
    host_report_decided(guest, &decision);
    assert_string_equal(report_of(host, guest, 0).decision, "backoff");
    host_report_ended(guest, NULL, &end);
    host_report_decided(guest, &decision);
    report = report_of(host, guest, 0);
    assert_string_equal(report.decision, "failed");
    assert_int_equal(report.due_ns, 0); /* only a back-off has an end */
    host_report_ended(guest, NULL, &end);
    decision.to = HOST_CHILD_BACKOFF;
    decision.due_ns = 1; /* long ago */
    host_report_decided(guest, &decision);
    assert_int_equal(report_of(host, guest, 0).due_ns, 0);
    observe_free(host);
}

static int child_of(struct host_observe *host, struct rapahub_guest_id life,
                    struct rapahub_child_id *out)
{
    return rapahub_child_of(handle(host), life, out);
}

static void a_life_leads_to_its_child_as_long_as_it_is_reported(void **state)
{
    struct rapahub_guest_id first = {.group = 1, .epoch = 1, .peer = 1}, second = first,
                            zero = {.group = 0};
    struct host_observe *host = observe_new();
    struct host_guest *guest = serving(host, "calc");
    struct host_life *life = open_life(guest);
    const struct host_end end = an_end();
    struct rapahub_child_id child = {0};

    (void)state;
    second.epoch = 2;
    life->id = guest->id = first;
    assert_int_equal(child_of(host, first, &child), 0);
    assert_int_equal(child.number, id_of(guest).number);
    host_report_ended(guest, life, &end);
    life->id = guest->id = second;
    for (int i = 1; i < HOST_REPORT_KEPT; i++) {
        assert_int_equal(child_of(host, first, &child), 0);
        host_report_ended(guest, life, &end);
    }
    assert_int_equal(child_of(host, first, &child), 0);
    host_report_ended(guest, life, &end);
    assert_int_equal(child_of(host, first, &child), RAPAHUB_ESTALE);
    assert_int_equal(child_of(host, second, &child), 0);
    guest->id = zero;
    assert_int_equal(child_of(host, zero, &child), RAPAHUB_ESTALE); /* never one */
    host_supervision_end(guest);
    assert_int_equal(child_of(host, second, &child), RAPAHUB_ESTALE);
    close_life(life);
    observe_free(host);
}

/* r[verify supervise.unsupervised] */
static void a_guest_that_came_by_itself_has_no_child(void **state)
{
    const struct rapahub_guest_id id = {.group = 1, .epoch = 1, .peer = 1};
    struct host_observe *host = observe_new();
    struct host_guest *guest = stage_enter(&host->supervision, "pid-77");
    struct rapahub_child_id child = {7};

    (void)state;
    guest->id = id;
    guest->anonymous = true;
    guest->state = HOST_GUEST_READY;
    assert_int_equal(child_of(host, id, &child), RAPAHUB_EUNSUPERVISED);
    guest->state = HOST_GUEST_CLOSED;
    assert_int_equal(child_of(host, id, &child), RAPAHUB_ESTALE);
    assert_int_equal(child.number, 7);
    observe_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_kept_with_all_that_is_known_of_it),
        cmocka_unit_test(a_status_a_signal_and_a_core_are_told_apart),
        cmocka_unit_test(a_start_that_failed_is_kept_with_its_step_and_code),
        cmocka_unit_test(the_state_is_that_before_the_host_ended_it),
        cmocka_unit_test(the_oldest_call_that_was_lost_is_named_where_it_is_known),
        cmocka_unit_test(the_last_ends_are_kept_and_no_more),
        cmocka_unit_test(a_guest_that_is_nobodys_child_has_no_report),
        cmocka_unit_test(what_was_decided_completes_the_last_report_once),
        cmocka_unit_test(a_life_leads_to_its_child_as_long_as_it_is_reported),
        cmocka_unit_test(a_guest_that_came_by_itself_has_no_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
