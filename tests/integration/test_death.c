/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that die: what the caller of that moment gets, and the next one. */
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

/* r[verify shm.death.callback] r[verify shm.death.callback-context] r[verify shm.death.recovery] */
static void a_killed_guest_answers_the_next_call(void **state)
{
    struct hosting on;
    int64_t sum = 0;
    int32_t before;

    (void)state;
    open_calc(&on);
    before = pid_of(&on);
    kill(before, SIGKILL);
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_not_equal(pid_of(&on), before);
    assert_done(add(&on, 40, 2, &sum));
    assert_int_equal(sum, 42);
    assert_int_equal(on.told.down, 1);
    assert_int_equal(on.told.restart, 1);
    assert_non_null(strstr(on.told.text, "down calc signal SIGKILL; restart calc"));
    assert_int_equal(on.told.guest.epoch, 2);
    close_host(&on);
}

static void a_call_right_after_the_death_waits_for_the_next_life(void **state)
{
    struct hosting on;
    int64_t sum = 0;
    int r;

    (void)state;
    open_calc(&on);
    for (int i = 0; i < 3; i++) {
        assert_done(rapahub_host_kill(on.host, on.guest));
        /* The first may be sent before the signal is seen; the later restarts take their time. */
        do
            r = add(&on, 1, i, &sum);
        while (r == RAPAHUB_EDIED || r == RAPAHUB_ERESTARTING);
        assert_done(r);
        assert_int_equal(sum, 1 + i);
        assert_true(until(&on, &on.told.ready, (unsigned)i + 2));
        on.guest = on.told.guest;
    }
    close_host(&on);
}

static void a_method_that_crashes_is_diagnosed(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED,
                   "the guest calc died during crash: signal SIGSEGV");
    assert_true(until(&on, &on.told.down, 1));
    assert_int_equal(on.told.calls_lost, 1);
    close_host(&on);
}

/* The other threads of the guest live on, and its heart would beat: it took the time-out of the
 * call, and of the heartbeat. */
static void check_end_of_thread(const char *method, const char *text)
{
    int64_t sum = 0;
    uint64_t start;
    struct hosting on;

    open_calc(&on);
    start = now_ms();
    assert_refused(ask(&on, method, NULL, NULL), RAPAHUB_EDIED, text);
    assert_in_range(now_ms() - start, 0, 2000);
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(on.told.down, 1);
    assert_done(add(&on, 40, 2, &sum));
    close_host(&on);
}

/* r[verify supervise.thread] */
static void a_method_that_ends_its_thread_ends_the_guest(void **state)
{
    (void)state;
    check_end_of_thread("end_thread()", "the guest calc died during end_thread: exit status 77, "
                                        "its serving thread ended");
    check_end_of_thread("end_task()", "the guest calc died during end_task: exit status 77, its "
                                      "serving thread ended");
}

static void a_method_that_leaves_is_diagnosed(void **state)
{
    const int32_t status = 3;
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_refused(ask(&on, "leave(i32)", (const void *const[]){&status, NULL}, NULL),
                   RAPAHUB_EDIED, "the guest calc died during leave: exit status 3");
    close_host(&on);
}

static void a_method_that_never_returns_holds_up_nobody_for_ever(void **state)
{
    const struct rapahub_call call = {.target = here, .method = "spin()", .timeout_ns = 30000000};
    struct rapahub_supervision hasty = {.goodbye_ns = 50000000, .term_ns = RAPAHUB_NONE};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, CALC, here, &hasty));
    assert_refused(rapahub_host_call(on.host, &call, NULL), RAPAHUB_ETIMEDOUT, "spin");
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_non_null(strstr(on.told.text, "did not stop when asked"));
    close_host(&on);
}

static void a_stale_id_is_refused(void **state)
{
    const struct rapahub_container_options other = {.id = {.pool = {2, 0}}, .pool_name = "other"};
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_refused(rapahub_host_kill(on.host, on.guest), RAPAHUB_ESTALE, "ended");
    assert_refused(rapahub_host_stop(on.host, on.guest), RAPAHUB_ESTALE, "ended");
    assert_refused(rapahub_host_add_container(on.host, on.guest, &other), RAPAHUB_ESTALE,
                   "there is no such guest any more");
    close_host(&on);
}

static void a_trusted_guest_gives_its_entry_back(void **state)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_host_options one = {.guests_max = 1};
    struct hosting on;
    int64_t sum;

    (void)state;
    open_host(&on, one);
    assert_done(rapahub_host_spawn(on.host, &options, &on.guest));
    assert_done(rapahub_host_add_container(on.host, on.guest, &container));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
        assert_true(until(&on, &on.told.ready, i + 2));
        assert_done(add(&on, 1, 2, &sum));
        assert_int_equal(on.told.guest.peer, 1);
    }
    close_host(&on);
}

static void nothing_is_left_when_a_guest_dies_while_the_host_ends(void **state)
{
    struct hosting on;

    (void)state;
    open_calc(&on);
    assert_done(rapahub_host_kill(on.host, on.guest));
    close_host(&on);
}

/* A host of its own process, which tells the pids of its guests and then waits for its end. */
static void host_in_child(int to)
{
    static const enum rapahub_trust levels[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};
    int32_t pids[2] = {0, 0};
    struct rapahub_host *host;

    if (rapahub_host_create(NULL, &host) < 0)
        _exit(1);
    for (uint32_t i = 0; i < 2; i++) {
        const struct rapahub_guest_options guest = {.chimod = CALC, .trust = levels[i]};
        const struct rapahub_container_options container = {.id = {.pool = {i, 0}},
                                                            .pool_name = "test"};
        const struct rapahub_call call = {.target = container.id, .method = "pid() -> i32"};
        struct rapahub_guest_id id;

        if (rapahub_host_spawn(host, &guest, &id) < 0 ||
            rapahub_host_add_container(host, id, &container) < 0 ||
            rapahub_host_call(host, &call, &pids[i]) < 0)
            _exit(1);
    }
    if (write(to, pids, sizeof pids) != sizeof pids)
        _exit(1);
    for (;;)
        pause_ms(1000);
}

static bool is_gone(int32_t pid)
{
    for (int i = 0; i < 200 && kill(pid, 0) == 0; i++)
        pause_ms(10);
    return kill(pid, 0) < 0;
}

/* r[verify hub.file.sweep] */
static void guests_end_with_a_host_that_is_killed(void **state)
{
    struct leak *leak = leak_begin();
    int32_t pids[2] = {0, 0};
    struct hosting on;
    siginfo_t info;
    int ends[2];
    pid_t host;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    host = fork();
    if (host == 0)
        host_in_child(ends[1]);
    close(ends[1]);
    leak_adopt(leak, host);
    assert_int_equal(read(ends[0], pids, sizeof pids), sizeof pids);
    close(ends[0]);
    kill(host, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)host, &info, WEXITED), 0);
    assert_true(is_gone(pids[0]));
    assert_true(is_gone(pids[1]));
    open_host(&on, (struct rapahub_host_options){0}); /* sweeps the segment it left */
    close_host(&on);
    leak_assert_none(leak);
}

/* Kills another guest in a callback, and calls it there until that is known. */
struct chain_of_deaths {
    struct hosting *on;
    pid_t second;
    unsigned depth, deepest, downs;
};

static void kill_in_callback(void *user, const struct rapahub_event *event)
{
    static const struct rapahub_container_id there = {.pool = {2, 0}};
    const struct rapahub_call call = {.target = there, .method = "pid() -> i32"};
    struct chain_of_deaths *deaths = user;
    int32_t pid = 0;

    deaths->depth++;
    if (deaths->depth > deaths->deepest)
        deaths->deepest = deaths->depth;
    if (event->kind == RAPAHUB_EVENT_DOWN && deaths->downs++ == 0) {
        kill(deaths->second, SIGKILL);
        while (rapahub_host_call(deaths->on->host, &call, &pid) == 0)
            continue;
    }
    deaths->depth--;
}

/* r[verify shm.death.callback-context] */
static void an_event_is_not_told_inside_of_another_callback(void **state)
{
    static const struct rapahub_supervision once = {.restart = RAPAHUB_RESTART_TEMPORARY};
    static const struct rapahub_container_id there = {.pool = {2, 0}};
    const struct rapahub_call call = {.target = there, .method = "pid() -> i32"};
    struct chain_of_deaths deaths = {0};
    struct hosting on;
    int32_t pid = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.on_event = kill_in_callback, .user = &deaths});
    deaths.on = &on;
    assert_done(start(&on, CALC, there, &once));
    assert_done(rapahub_host_call(on.host, &call, &pid));
    deaths.second = pid;
    assert_done(start(&on, CALC, here, &once));
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &deaths.downs, 2));
    assert_int_equal(deaths.deepest, 1);
    close_host(&on);
}

/* Its first event has its guest print, and then waits, in turns, longer than that takes. */
struct printing {
    struct hosting *on;
    unsigned depth, deepest, lines;
};

static void print_in_callback(void *user, const struct rapahub_event *event)
{
    const uint32_t ms = 300;
    const struct rapahub_string line = rapahub_string_of("again\n");
    struct printing *printing = user;

    printing->depth++;
    if (printing->depth > printing->deepest)
        printing->deepest = printing->depth;
    if (event->kind == RAPAHUB_EVENT_OUTPUT && printing->lines++ == 0) {
        assert_done(ask(printing->on, "print(string)", (const void *const[]){&line, NULL}, NULL));
        assert_done(ask(printing->on, "hold(u32)", (const void *const[]){&ms, NULL}, NULL));
        assert_int_equal(printing->lines, 1);
    }
    printing->depth--;
}

/* Events found in the turns of a callback are reported after it.
 * r[verify shm.death.callback-context] */
static void an_event_of_the_turns_in_a_callback_is_told_behind_it(void **state)
{
    const struct rapahub_string line = rapahub_string_of("once\n");
    struct printing printing = {0};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.on_event = print_in_callback, .user = &printing});
    printing.on = &on;
    assert_done(start(&on, CALC, here, NULL));
    assert_done(ask(&on, "print(string)", (const void *const[]){&line, NULL}, NULL));
    assert_true(until(&on, &printing.lines, 2));
    assert_int_equal(printing.deepest, 1);
    close_host(&on);
}

/* A debugger, in a process of its own; 0: it may not. It lets go after so long; 0: when it dies. */
static pid_t trace(pid_t pid, int ms)
{
    char may = 0;
    int ends[2];
    pid_t tracer;

    assert_int_equal(pipe(ends), 0);
    tracer = fork();
    assert_true(tracer >= 0);
    if (tracer == 0) {
        may = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
        if (write(ends[1], &may, 1) == 1 && may)
            pause_ms(ms ? ms : -1);
        _exit(0);
    }
    close(ends[1]);
    (void)!read(ends[0], &may, 1);
    close(ends[0]);
    if (!may)
        assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    return may ? tracer : 0;
}

/* r[verify supervise.reap] */
static void a_guest_that_died_under_a_debugger_is_reaped_when_that_lets_go(void **state)
{
    struct hosting on;
    pid_t pid, tracer;

    (void)state;
    open_calc(&on);
    pid = pid_of(&on);
    tracer = trace(pid, 0);
    if (!tracer) {
        close_host(&on);
        skip();
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(until(&on, &on.told.ready, 2)); /* the debugger is not waited for */
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(kill(tracer, SIGKILL), 0);
    assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    for (int i = 0; i < 50 && kill(pid, 0) == 0; i++)
        assert_true(rapahub_host_dispatch(on.host, 100) >= 0);
    assert_int_equal(kill(pid, 0), -1);
    close_host(&on);
}

static void a_host_that_ends_waits_a_moment_for_a_debugger(void **state)
{
    struct hosting on;
    pid_t tracer;

    (void)state;
    open_calc(&on);
    tracer = trace(pid_of(&on), 500);
    rapahub_host_destroy(on.host);
    if (tracer)
        assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    leak_assert_none(on.leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_guest_answers_the_next_call),
        cmocka_unit_test(a_call_right_after_the_death_waits_for_the_next_life),
        cmocka_unit_test(a_method_that_crashes_is_diagnosed),
        cmocka_unit_test(a_method_that_ends_its_thread_ends_the_guest),
        cmocka_unit_test(a_method_that_leaves_is_diagnosed),
        cmocka_unit_test(a_method_that_never_returns_holds_up_nobody_for_ever),
        cmocka_unit_test(a_stale_id_is_refused),
        cmocka_unit_test(an_event_is_not_told_inside_of_another_callback),
        cmocka_unit_test(an_event_of_the_turns_in_a_callback_is_told_behind_it),
        cmocka_unit_test(a_trusted_guest_gives_its_entry_back),
        cmocka_unit_test(nothing_is_left_when_a_guest_dies_while_the_host_ends),
        cmocka_unit_test(guests_end_with_a_host_that_is_killed),
        cmocka_unit_test(a_guest_that_died_under_a_debugger_is_reaped_when_that_lets_go),
        cmocka_unit_test(a_host_that_ends_waits_a_moment_for_a_debugger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
