/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that has a limit for that is stuck when it makes no progress with what it was asked, and
 * only then. There are no heartbeats here, but where a test says so. */
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS    UINT64_C(1000000)
#define LIMIT 400 /* ms */
#define NEVER UINT64_MAX

static const struct rapahub_supervision stall = {.stall_ns = LIMIT * MS, .abort_ns = RAPAHUB_NONE};
static const struct rapahub_supervision overrun = {.overrun_ns = LIMIT * MS,
                                                   .abort_ns = RAPAHUB_NONE};

static void open_so(struct hosting *on, const struct rapahub_supervision *how,
                    uint64_t heartbeat_ns)
{
    open_host(on, (struct rapahub_host_options){.heartbeat_ns = heartbeat_ns});
    assert_done(start(on, CALC, here, how));
}

struct ending {
    unsigned count;
    int status;
    uint64_t at_ms;
    bool repaired; /* while its process lived */
    int32_t pid;
};

/* A process that has ended is a zombie until its host takes its status. */
static bool lives(int32_t pid)
{
    char path[64], text[256] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (!fgets(text, sizeof text, file))
        text[0] = '\0';
    fclose(file);
    return text[0] && !strstr(text, ") Z ") && !strstr(text, ") X ");
}

static void on_done(void *user, int status, const void *result)
{
    struct ending *ending = user;

    (void)result;
    ending->count++;
    ending->status = status;
    ending->at_ms = now_ms();
    ending->repaired = ending->pid != 0 && lives(ending->pid);
}

static void begin(struct hosting *on, const char *method, uint32_t ms, uint64_t timeout_ms,
                  struct ending *ending)
{
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {
        .target = here, .method = method, .arguments = arguments, .timeout_ns = timeout_ms * MS};

    assert_done(rapahub_host_call_async(on->host, &call, on_done, ending, NULL));
}

static void begin_hold(struct hosting *on, uint32_t ms, uint64_t timeout_ms, struct ending *ending)
{
    begin(on, "hold(u32) -> void", ms, timeout_ms, ending);
}

static void look_for(struct hosting *on, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        assert_done(rapahub_host_dispatch(on->host, 10));
}

/* It came again, as what is stuck does; a call works. */
static void assert_killed_within(struct hosting *on, uint64_t begun_ms, uint64_t least_ms)
{
    assert_true(until(on, &on->told.down, 1));
    assert_in_range(now_ms() - begun_ms, least_ms, 2 * LIMIT + 5000);
    assert_true(until(on, &on->told.ready, 2));
    assert_int_equal(on->told.guest.epoch, 2);
    assert_int_not_equal(pid_of(on), 0);
}

/* With calls queued in its ring. r[verify supervise.stall] r[verify hub.death.proof] */
static void one_that_is_stopped_with_calls_in_its_ring_is_stuck(void **state)
{
    struct ending endings[8] = {{0}};
    struct hosting on;
    uint64_t begun;
    int32_t pid;

    (void)state;
    open_so(&on, &stall, NEVER);
    pid = pid_of(&on);
    kill(pid, SIGSTOP);
    begun = now_ms();
    for (unsigned i = 0; i < 8; i++) {
        endings[i].pid = pid;
        begin_hold(&on, 1, 20000, &endings[i]);
    }
    assert_killed_within(&on, begun, LIMIT);
    assert_non_null(strstr(on.told.text, "down calc no progress"));
    look_for(&on, 100);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(endings[i].count, 1);
        assert_int_equal(endings[i].status, RAPAHUB_EDIED);
        assert_false(endings[i].repaired);
    }
    close_host(&on);
}

/* A guest that does not receive the signal for its last words: until it is dead nothing of it is
 * repaired, and no call has ended. r[verify supervise.watchdog] */
static void nothing_is_repaired_before_the_proof(void **state)
{
    const struct rapahub_supervision patient = {.stall_ns = LIMIT * MS, .abort_ns = 1500 * MS};
    struct ending ending = {0};
    struct hosting on;

    (void)state;
    open_so(&on, &patient, NEVER);
    ending.pid = pid_of(&on);
    kill(ending.pid, SIGSTOP);
    begin_hold(&on, 1, 20000, &ending);
    look_for(&on, 2 * LIMIT + 300);
    assert_true(lives(ending.pid));
    assert_int_equal(ending.count, 0);
    assert_int_equal(on.told.down, 0);
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(ending.count, 1);
    assert_int_equal(ending.status, RAPAHUB_EDIED);
    assert_false(ending.repaired);
    assert_int_equal(on.told.guest.epoch, 2);
    close_host(&on);
}

/* Whether its heart beats or not: with one, others see to its ring meanwhile.
 * r[verify supervise.stall] */
static void a_call_that_runs_too_long_is_stuck(void **state)
{
    struct ending ending, more[100];
    struct hosting on;
    uint64_t begun;

    (void)state;
    for (int beats = 0; beats < 2; beats++) {
        memset(more, 0, sizeof more);
        ending = (struct ending){0};
        open_so(&on, &stall, beats ? 20 * MS : NEVER);
        begun = now_ms();
        begin_hold(&on, 20000, 30000, &ending);
        for (unsigned i = 0; i < 100 && on.told.down == 0; i++) {
            begin(&on, "nap(u32)", 0, 30000, &more[i]);
            look_for(&on, 20);
        }
        assert_killed_within(&on, begun, LIMIT);
        assert_non_null(strstr(on.told.text, "down calc no progress"));
        assert_int_equal(ending.status, RAPAHUB_EDIED);
        close_host(&on);
    }
}

/* Each of them less than the limit, all together far more. r[verify supervise.stall] */
static void who_answers_again_and_again_is_not_stuck(void **state)
{
    struct ending endings[20] = {{0}};
    struct hosting on;
    int32_t pid;

    (void)state;
    open_so(&on, &stall, NEVER);
    pid = pid_of(&on);
    for (unsigned i = 0; i < 20; i++)
        begin_hold(&on, LIMIT / 4, 30000, &endings[i]);
    assert_true(until(&on, &endings[19].count, 1));
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(endings[i].status, 0);
    look_for(&on, 2 * LIMIT); /* and one that has nothing to do is not */
    assert_int_equal(pid_of(&on), pid);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* Nor one that waits for what another one does. r[verify supervise.stall] */
static void who_waits_for_an_answer_is_not_stuck(void **state)
{
    const struct rapahub_container_id other = {.pool = {9, 0}};
    const struct rapahub_container_options container = {.id = other, .pool_name = "caller"};
    const struct rapahub_guest_options caller = {.chimod = MODULE("caller"), .supervision = &stall};
    const uint32_t pool = 1, ms = 3 * LIMIT;
    const void *const arguments[] = {&pool, &ms, NULL};
    const struct rapahub_call call = {
        .target = other, .method = "hold(u32, u32) -> void", .arguments = arguments};
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_so(&on, NULL, NEVER);
    assert_done(rapahub_host_spawn(on.host, &caller, &guest));
    assert_done(rapahub_host_add_container(on.host, guest, &container));
    assert_done(rapahub_host_call(on.host, &call, NULL));
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* It cannot receive messages that are held back here. */
static void who_is_shown_nothing_is_not_stuck(void **state)
{
    struct ending ending = {0};
    struct hosting on;
    int32_t pid;

    (void)state;
    open_so(&on, &stall, NEVER);
    pid = pid_of(&on);
    assert_done(rapahub_host_cork(on.host, here, true));
    begin_hold(&on, 1, 20000, &ending);
    for (uint64_t end = now_ms() + 3 * LIMIT; now_ms() < end; pause_ms(1))
        assert_done(rapahub_host_dispatch(on.host, 0));
    assert_done(rapahub_host_cork(on.host, here, false));
    assert_true(until(&on, &ending.count, 1));
    assert_int_equal(ending.status, 0);
    assert_int_equal(pid_of(&on), pid);
    close_host(&on);
}

/* r[verify supervise.overrun] */
static void a_call_that_goes_on_when_nobody_waits_is_stuck(void **state)
{
    struct ending ending = {0};
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_so(&on, &overrun, NEVER);
    begin_hold(&on, 20000, 50, &ending);
    begun = now_ms();
    assert_killed_within(&on, begun, LIMIT);
    assert_non_null(strstr(on.told.text, "down calc did not end a call that nobody waited for"));
    assert_int_equal(ending.count, 1);
    assert_int_equal(ending.status, -ETIMEDOUT);
    close_host(&on);
}

/* A little late, and as long as its caller waits. r[verify supervise.overrun] */
static void a_call_that_is_a_little_late_is_no_overrun(void **state)
{
    struct ending late = {0}, waited = {0};
    struct hosting on;
    int32_t pid;

    (void)state;
    open_so(&on, &overrun, NEVER);
    pid = pid_of(&on);
    begin_hold(&on, LIMIT / 2, 50, &late);
    look_for(&on, 3 * LIMIT);
    begin_hold(&on, 3 * LIMIT, 20000, &waited);
    assert_true(until(&on, &waited.count, 1));
    assert_int_equal(late.status, -ETIMEDOUT);
    assert_int_equal(waited.status, 0);
    assert_int_equal(pid_of(&on), pid);
    assert_int_equal(on.told.down, 0);
    close_host(&on);
}

/* A guest under a debugger may not be found stuck. r[verify supervise.watchdog.pause] */
static void under_a_debugger_nobody_is_stuck(void **state)
{
    const struct rapahub_supervision debugged = {.stall_ns = LIMIT * MS, .debug = true};
    struct ending ending;
    struct hosting on;
    int32_t pid;

    (void)state;
    for (int traced = 0; traced < 2; traced++) {
        ending = (struct ending){0};
        open_so(&on, traced ? &stall : &debugged, NEVER);
        pid = pid_of(&on);
        if (traced)
            assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
        begin_hold(&on, 4 * LIMIT, 30000, &ending);
        assert_true(until(&on, &ending.count, 1));
        assert_int_equal(ending.status, 0);
        assert_int_equal(on.told.down, 0);
        if (traced) {
            assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
            assert_int_equal(waitpid(pid, NULL, __WALL), pid);
            assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
        }
        close_host(&on);
    }
}

/* It may finish its running call: how long that may take is decided by its stop.
 * r[verify supervise.stall] r[verify supervise.stop] */
static void who_stops_is_not_stuck(void **state)
{
    const struct rapahub_supervision how = {
        .stall_ns = LIMIT * MS, .abort_ns = RAPAHUB_NONE, .drain_ns = 20000 * MS};
    struct ending ending = {0};
    struct hosting on;

    (void)state;
    open_so(&on, &how, NEVER);
    begin_hold(&on, 4 * LIMIT, 30000, &ending);
    look_for(&on, LIMIT / 4);
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_true(until(&on, &on.told.down, 1));
    assert_null(strstr(on.told.text, "no progress"));
    assert_int_equal(ending.count, 1);
    assert_int_equal(ending.status, 0);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_stopped_with_calls_in_its_ring_is_stuck),
        cmocka_unit_test(nothing_is_repaired_before_the_proof),
        cmocka_unit_test(a_call_that_runs_too_long_is_stuck),
        cmocka_unit_test(who_answers_again_and_again_is_not_stuck),
        cmocka_unit_test(who_waits_for_an_answer_is_not_stuck),
        cmocka_unit_test(who_is_shown_nothing_is_not_stuck),
        cmocka_unit_test(a_call_that_goes_on_when_nobody_waits_is_stuck),
        cmocka_unit_test(a_call_that_is_a_little_late_is_no_overrun),
        cmocka_unit_test(who_stops_is_not_stuck),
        cmocka_unit_test(under_a_debugger_nobody_is_stuck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
