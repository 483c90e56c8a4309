/* SPDX-License-Identifier: Apache-2.0 */
/* A heartbeat says that the serving loop makes progress: a method may take as long as its caller
 * waits, and a moment longer; a loop without progress is killed; time in which the host itself was
 * stopped does not count. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS UINT64_C(1000000)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INTERVAL (100 * MS) /* a guest that is slow is not to be taken for a silent one */
#else
#define INTERVAL (50 * MS)
#endif

static void open_beating_so(struct hosting *on, const struct rapahub_supervision *how)
{
    open_host(on, (struct rapahub_host_options){.heartbeat_ns = INTERVAL});
    assert_done(start(on, CALC, here, how));
}

static void open_beating(struct hosting *on)
{
    open_beating_so(on, NULL);
}

static int hold(struct hosting *on, uint32_t ms, uint64_t timeout_ms)
{
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "hold(u32) -> void",
                                      .arguments = arguments,
                                      .timeout_ns = timeout_ms * MS};

    return rapahub_host_call(on->host, &call, NULL);
}

static void look_for(struct hosting *on, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        assert_done(rapahub_host_dispatch(on->host, 10));
}

/* Twenty intervals. r[verify shm.crash.heartbeat] */
static void a_method_may_take_as_long_as_somebody_waits(void **state)
{
    struct hosting on;
    int32_t pid;

    (void)state;
    open_beating(&on);
    pid = pid_of(&on);
    assert_done(hold(&on, 1000, 20000));
    assert_int_equal(pid_of(&on), pid);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* Its caller is gone, and it soon returns. */
static void a_method_that_is_a_little_late_is_forgiven(void **state)
{
    struct hosting on;
    int32_t pid;

    (void)state;
    open_beating(&on);
    pid = pid_of(&on);
    assert_int_equal(hold(&on, 250, 50), -ETIMEDOUT);
    look_for(&on, 300);
    assert_int_equal(pid_of(&on), pid);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* r[verify shm.crash.heartbeat] */
static void a_method_that_goes_on_when_nobody_waits_is_stuck(void **state)
{
    struct hosting on;

    (void)state;
    open_beating(&on);
    assert_int_equal(hold(&on, 20000, 50), -ETIMEDOUT);
    assert_true(until(&on, &on.told.ready, 2));
    assert_non_null(strstr(on.told.text, "down calc no heartbeat"));
    assert_done(hold(&on, 1, 20000)); /* the next life answers */
    close_host(&on);
}

/* A guest that waits for a call of its own waits for messages. */
static void a_guest_that_waits_for_an_answer_is_well(void **state)
{
    const struct rapahub_container_id other = {.pool = {9, 0}};
    const struct rapahub_container_options container = {.id = other, .pool_name = "caller"};
    const struct rapahub_guest_options caller = {.chimod = MODULE("caller")};
    const uint32_t pool = 1, ms = 500;
    const void *const arguments[] = {&pool, &ms, NULL};
    const struct rapahub_call call = {
        .target = other, .method = "hold(u32, u32) -> void", .arguments = arguments};
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_beating(&on);
    assert_done(rapahub_host_spawn(on.host, &caller, &guest));
    assert_done(rapahub_host_add_container(on.host, guest, &container));
    assert_done(rapahub_host_call(on.host, &call, NULL));
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* As if the machine had slept: host and guest were stopped, and the host wakes first.
 * r[verify shm.crash.heartbeat] */
static void nobody_is_judged_by_time_the_host_did_not_see(void **state)
{
    struct hosting on;
    int32_t pid;
    uint64_t end;

    (void)state;
    open_beating(&on);
    for (int i = 0; i < 3; i++) {
        pid = pid_of(&on);
        kill(pid, SIGSTOP);
        for (end = now_ms() + 20 * INTERVAL / MS; now_ms() < end;)
            pause_ms(10);
        assert_done(rapahub_host_dispatch(on.host, 0));
        kill(pid, SIGCONT);
        assert_int_equal(pid_of(&on), pid);
    }
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* Its last beat is seen, it stops, and the host stands still: for two intervals from then on it is
 * not missed, though that beat is old. r[verify shm.crash.heartbeat]
 * r[verify supervise.watchdog.pause] */
static void a_beat_that_grew_old_while_the_host_stood_still_is_no_silence(void **state)
{
    const uint64_t interval = 400;
    struct hosting on;
    int32_t pid;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = interval * MS});
    assert_done(start(&on, CALC, here, NULL));
    pid = pid_of(&on);
    kill(pid, SIGSTOP);
    look_for(&on, interval + interval / 4); /* its last beat is seen */
    for (uint64_t end = now_ms() + 6 * interval; now_ms() < end;)
        pause_ms(10);
    look_for(&on, interval + interval / 4); /* two looks */
    assert_int_equal(on.told.down, 0);
    kill(pid, SIGCONT);
    look_for(&on, 4 * interval);
    assert_int_equal(pid_of(&on), pid);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* It is not dead before it is proven dead: it is stopped, then killed. r[verify hub.death.proof] */
static void a_stopped_guest_is_killed_and_then_proven_dead(void **state)
{
    struct hosting on;

    (void)state;
    open_beating(&on);
    kill(pid_of(&on), SIGSTOP);
    assert_true(until(&on, &on.told.ready, 2));
    assert_non_null(strstr(on.told.text, "down calc no heartbeat, killed"));
    assert_int_equal(on.told.guest.epoch, 2);
    close_host(&on);
}

/* Whenever it stops between two looks.
 * r[verify shm.crash.heartbeat] */
static void it_is_found_within_three_intervals(void **state)
{
    const struct rapahub_supervision at_once = {.abort_ns = RAPAHUB_NONE};
    const uint64_t interval = 800;
    struct hosting on;
    uint64_t begun;

    (void)state;
    for (uint64_t phase = 0; phase < interval; phase += interval / 3 + 1) {
        open_host(&on, (struct rapahub_host_options){.heartbeat_ns = interval * MS});
        assert_done(start(&on, CALC, here, &at_once));
        look_for(&on, interval + phase);
        begun = now_ms();
        kill(pid_of(&on), SIGSTOP);
        assert_true(until(&on, &on.told.down, 1));
        assert_in_range(now_ms() - begun, interval, 3 * interval + 700);
        assert_non_null(strstr(on.told.text, "down calc no heartbeat, killed"));
        close_host(&on);
    }
}

/* A signal that it can hear, so that it says where it hangs; then the other one.
 * r[verify supervise.watchdog] */
static void who_is_stuck_has_time_for_its_last_words(void **state)
{
    const struct rapahub_supervision at_once = {.abort_ns = RAPAHUB_NONE},
                                     half = {.abort_ns = 500 * MS};
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_beating(&on);
    assert_int_equal(hold(&on, 20000, 50), -ETIMEDOUT);
    assert_true(until(&on, &on.told.down, 1));
    assert_non_null(strstr(on.told.text, "SIGABRT"));
    assert_non_null(strstr(on.told.text, "hold"));
    close_host(&on);
    open_beating_so(&on, &at_once);
    assert_int_equal(hold(&on, 20000, 50), -ETIMEDOUT);
    assert_true(until(&on, &on.told.down, 1));
    assert_null(strstr(on.told.text, "SIGABRT"));
    close_host(&on);
    open_beating_so(&on, &half);
    kill(pid_of(&on), SIGSTOP);
    begun = now_ms();
    assert_true(until(&on, &on.told.down, 1));
    assert_in_range(now_ms() - begun, 500 + INTERVAL / MS, 5000);
    close_host(&on);
}

/* r[verify supervise.watchdog] */
static void how_long_it_may_be_silent_is_its_own(void **state)
{
    const struct rapahub_supervision patient = {.heartbeat_misses = 100},
                                     never = {.debug = true}, *const both[] = {&patient, &never};
    struct hosting on;
    int32_t pid;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        open_beating_so(&on, both[i]);
        pid = pid_of(&on);
        kill(pid, SIGSTOP);
        look_for(&on, 1000);
        kill(pid, SIGCONT);
        assert_int_equal(pid_of(&on), pid);
        assert_int_equal(on.told.down, 0);
        close_host(&on);
    }
}

static int32_t pid_of_child(struct hosting *on, struct rapahub_child_id child)
{
    struct rapahub_child_status status = {0};

    for (uint64_t end = now_ms() + 5000; status.pid == 0 && now_ms() < end;) {
        assert_done(rapahub_host_dispatch(on->host, 10));
        assert_done(rapahub_child_status(on->host, child, &status));
    }
    return status.pid;
}

/* r[verify supervise.watchdog.pause] */
static void who_is_looked_at_by_a_debugger_may_start_slowly(void **state)
{
    const struct rapahub_supervision hasty = {.start_timeout_ns = 300 * MS};
    const struct rapahub_guest_options options = {.chimod = MODULE("constructor_loop"),
                                                  .supervision = &hasty};
    struct rapahub_supervisor *root;
    struct rapahub_child_id child;
    struct hosting on;
    int32_t pid;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    assert_done(rapahub_supervisor_add(root, &options, &child));
    pid = pid_of_child(&on, child);
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    look_for(&on, 1000);
    assert_int_equal(on.told.down, 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
    assert_true(until(&on, &on.told.down, 1));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_may_take_as_long_as_somebody_waits),
        cmocka_unit_test(a_method_that_is_a_little_late_is_forgiven),
        cmocka_unit_test(a_method_that_goes_on_when_nobody_waits_is_stuck),
        cmocka_unit_test(a_guest_that_waits_for_an_answer_is_well),
        cmocka_unit_test(nobody_is_judged_by_time_the_host_did_not_see),
        cmocka_unit_test(a_beat_that_grew_old_while_the_host_stood_still_is_no_silence),
        cmocka_unit_test(a_stopped_guest_is_killed_and_then_proven_dead),
        cmocka_unit_test(it_is_found_within_three_intervals),
        cmocka_unit_test(who_is_stuck_has_time_for_its_last_words),
        cmocka_unit_test(how_long_it_may_be_silent_is_its_own),
        cmocka_unit_test(who_is_looked_at_by_a_debugger_may_start_slowly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
