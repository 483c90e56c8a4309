/* SPDX-License-Identifier: Apache-2.0 */
/* Supervision: which guests are restarted, how often, when, and the results that callers get
 * meanwhile. */
#include "tests/integration/hosting.h"

#define MS UINT64_C(1000000)

static void leave(struct hosting *on, int32_t status)
{
    assert_int_equal(ask(on, "leave(i32)", (const void *const[]){&status, NULL}, NULL),
                     RAPAHUB_EDIED);
}

static void the_budget_is_spent_and_the_guest_given_up(void **state)
{
    const struct rapahub_supervision two = {
        .restarts_max = 2, .backoff_initial_ns = MS, .backoff_max_ns = MS};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, &two));
    for (unsigned i = 0; i < 2; i++) {
        leave(&on, 3);
        assert_true(until(&on, &on.told.ready, i + 2));
    }
    leave(&on, 3);
    assert_true(until(&on, &on.told.failed, 1));
    assert_refused(add(&on, 1, 2, &sum), RAPAHUB_EGIVENUP, "calc was given up after 2 restarts");
    assert_int_equal(on.told.restart, 2);
    assert_int_equal(on.told.down, 3);
    close_host(&on);
}

static void a_temporary_guest_is_not_started_again(void **state)
{
    const struct rapahub_supervision once = {.restart = RAPAHUB_RESTART_TEMPORARY};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, &once));
    leave(&on, 3);
    assert_true(until(&on, &on.told.failed, 1));
    assert_refused(add(&on, 1, 2, &sum), RAPAHUB_ENORESTART, "exit status 3");
    assert_done(start(&on, CALC, here, &once)); /* the id is free again */
    assert_done(add(&on, 1, 2, &sum));
    close_host(&on);
}

static void a_transient_guest_is_started_again_unless_it_was_done(void **state)
{
    const struct rapahub_supervision transient = {.restart = RAPAHUB_RESTART_TRANSIENT};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, &transient));
    leave(&on, 1);
    assert_true(until(&on, &on.told.ready, 2));
    leave(&on, 0);
    assert_true(until(&on, &on.told.failed, 1));
    assert_refused(add(&on, 1, 2, &sum), RAPAHUB_ENORESTART, "exit status 0");
    close_host(&on);
}

static void a_guest_in_backoff_says_when_it_comes(void **state)
{
    static const char says[] = "calc restarts in ";
    const struct rapahub_supervision slow = {.backoff_initial_ns = 20000 * MS,
                                             .backoff_max_ns = 20000 * MS};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, &slow));
    leave(&on, 3);
    assert_true(until(&on, &on.told.ready, 2)); /* the first restart comes at once */
    assert_int_equal(on.told.due_ns, 0);
    leave(&on, 3);
    assert_true(until(&on, &on.told.restart, 2));
    assert_in_range(on.told.due_ns, 10000 * MS, 20000 * MS);
    assert_refused(add(&on, 1, 2, &sum), RAPAHUB_ERESTARTING, says);
    assert_in_range(strtod(strstr(rapahub_last_error()->text, says) + strlen(says), NULL) * 10, 50,
                    200); /* tenths of a second, rounded */
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_refused(add(&on, 1, 2, &sum), RAPAHUB_ESTOPPED, "calc was stopped");
    close_host(&on);
}

/* r[verify shm.guest.detach] */
static void a_stopped_guest_is_not_started_again(void **state)
{
    struct hosting on;
    int64_t sum;

    (void)state;
    open_calc(&on);
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_int_equal(on.told.down, 1);
    assert_int_equal(on.told.restart, 0);
    assert_non_null(strstr(on.told.text, "down calc exit status 0"));
    assert_refused(add(&on, 1, 2, &sum), RAPAHUB_ESTOPPED, "calc was stopped");
    close_host(&on);
}

static void a_container_that_cannot_restart_uses_the_budget_up(void **state)
{
    const struct rapahub_supervision two = {
        .restarts_max = 2, .backoff_initial_ns = MS, .backoff_max_ns = MS};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, MODULE("fickle"), here, &two));
    leave(&on, 3);
    assert_true(until(&on, &on.told.failed, 1));
    assert_int_equal(on.told.ready, 1);
    assert_non_null(strstr(on.told.text, "the data is gone"));
    close_host(&on);
}

/* r[verify shm.host.poll-peers] r[verify shm.death.detection-methods] */
static void a_guest_without_a_heartbeat_is_killed(void **state)
{
    uint64_t begin;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = 100 * MS});
    assert_done(start(&on, CALC, here, NULL));
    begin = now_ms();
    kill(pid_of(&on), SIGSTOP);
    assert_true(until(&on, &on.told.down, 1));
    assert_in_range(now_ms() - begin, 50, 5000);
    assert_non_null(strstr(on.told.text, "down calc no heartbeat"));
    assert_true(until(&on, &on.told.ready, 2));
    close_host(&on);
}

/* r[verify shm.crash.heartbeat] r[verify shm.crash.heartbeat-clock] */
static void a_guest_that_beats_is_left_alone(void **state)
{
    const uint32_t ms = 1000;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = 100 * MS});
    assert_done(start(&on, CALC, here, NULL));
    assert_done(ask(&on, "nap(u32)", (const void *const[]){&ms, NULL}, NULL));
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* The other guests of a host do not notice. */
static void a_sibling_keeps_its_process(void **state)
{
    const struct rapahub_container_id there = {.pool = {2, 0}};
    const struct rapahub_call crash = {.target = there, .method = "crash()"};
    struct hosting on;
    int32_t pid;

    (void)state;
    open_calc(&on);
    pid = pid_of(&on);
    assert_done(start(&on, CALC, there, NULL));
    assert_int_equal(rapahub_host_call(on.host, &crash, NULL), RAPAHUB_EDIED);
    assert_int_equal(pid_of(&on), pid);
    assert_true(until(&on, &on.told.ready, 3));
    assert_int_equal(pid_of(&on), pid);
    close_host(&on);
}

static void check_status(void *user, const struct rapahub_guest_status *status)
{
    uint32_t *restarts = user;

    assert_string_equal(status->name, "calc");
    assert_string_equal(status->state, "ready");
    assert_string_equal(status->version, "0.1.0");
    assert_string_equal(status->chimod, CALC);
    assert_true(status->pid > 0 && status->resident_bytes > 0 && status->uptime_ns > 0);
    assert_true(status->calls > 0);
    *restarts = status->restarts;
}

static void the_status_of_a_guest_is_told(void **state)
{
    uint32_t restarts = 77;
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_done(rapahub_host_guests(on.host, check_status, &restarts));
    assert_int_equal(restarts, 0);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_done(rapahub_host_guests(on.host, check_status, &restarts));
    assert_int_equal(restarts, 1);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_is_spent_and_the_guest_given_up),
        cmocka_unit_test(a_temporary_guest_is_not_started_again),
        cmocka_unit_test(a_transient_guest_is_started_again_unless_it_was_done),
        cmocka_unit_test(a_guest_in_backoff_says_when_it_comes),
        cmocka_unit_test(a_stopped_guest_is_not_started_again),
        cmocka_unit_test(a_container_that_cannot_restart_uses_the_budget_up),
        cmocka_unit_test(a_guest_without_a_heartbeat_is_killed),
        cmocka_unit_test(a_guest_that_beats_is_left_alone),
        cmocka_unit_test(a_sibling_keeps_its_process),
        cmocka_unit_test(the_status_of_a_guest_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
