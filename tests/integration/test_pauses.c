/* SPDX-License-Identifier: Apache-2.0 */
/* The host is stopped, as by a debugger or by a sleeping machine: when it continues no guest is
 * killed because of that time, whatever watches the guests. How long: 10 s, or as many seconds as
 * the argument says. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS UINT64_C(1000000)

/* Far above each limit below, also where all is slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static unsigned seconds = 5;
#else
static unsigned seconds = 10;
#endif

static const struct rapahub_container_id idle = {.pool = {2, 0}}, late = {.pool = {3, 0}};

/* Every limit there is is far below the pause. */
static const struct rapahub_supervision watched = {
    .stall_ns = 1000 * MS,
    .overrun_ns = 500 * MS,
    .heartbeat_misses = 4,
    .liveness = {.period_ns = 100 * MS, .timeout_ns = 800 * MS, .failure = 1},
    .readiness = {.period_ns = 100 * MS, .timeout_ns = 800 * MS, .failure = 1}};

struct ending {
    unsigned count;
    int status;
};

static void on_done(void *user, int status, const void *result)
{
    struct ending *ending = user;

    (void)result;
    ending->count++;
    ending->status = status;
}

struct order {
    struct rapahub_container_id where;
    const char *method;
    uint32_t ms;
    uint64_t timeout_ms;
};

static void begin(struct hosting *on, const struct order *order, struct ending *ending)
{
    const void *const arguments[] = {&order->ms, NULL};
    const struct rapahub_call call = {.target = order->where,
                                      .method = order->method,
                                      .arguments = arguments,
                                      .timeout_ns = order->timeout_ms * MS};

    assert_done(rapahub_host_call_async(on->host, &call, on_done, ending, NULL));
}
#define BEGIN(ending, ...) begin(&on, &(const struct order){__VA_ARGS__}, (ending))

/* This process is stopped for so long; others see to that it goes on. */
static void stand_still(unsigned s, const int32_t *pids, unsigned count)
{
    pid_t host = getpid(), waker = fork();

    if (waker == 0) {
        kill(host, SIGSTOP);
        for (unsigned i = 0; i < count; i++)
            kill(pids[i], SIGSTOP);
        pause_ms((int)(s * 1000));
        kill(host, SIGCONT);
        pause_ms(100); /* the host first, as if the machine had slept */
        for (unsigned i = 0; i < count; i++)
            kill(pids[i], SIGCONT);
        _exit(0);
    }
    assert_true(waker > 0);
    while (waitpid(waker, NULL, WNOHANG) == 0)
        pause_ms(1);
}

static void look_for(struct hosting *on, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        assert_done(rapahub_host_dispatch(on->host, 10));
}

static int32_t pid_in(struct hosting *on, struct rapahub_container_id where)
{
    const struct rapahub_call call = {.target = where, .method = "pid() -> i32"};
    int32_t pid = 0;

    assert_done(rapahub_host_call(on->host, &call, &pid));
    return pid;
}

static void open_three(struct hosting *on, int32_t pids[3])
{
    const struct rapahub_container_id all[] = {here, idle, late};

    open_host(on, (struct rapahub_host_options){.heartbeat_ns = 100 * MS});
    for (unsigned i = 0; i < 3; i++) {
        assert_done(start(on, CALC, all[i], &watched));
        pids[i] = pid_in(on, all[i]);
    }
}

/* Three guests: idle, in a call that ends meanwhile, in a call whose time is over meanwhile.
 * r[verify supervise.watchdog.pause] */
static void nobody_is_killed_for_a_pause_of_the_host(void **state)
{
    struct ending runs = {0}, over = {0};
    struct hosting on;
    int32_t pids[3];

    (void)state;
    open_three(&on, pids);
    look_for(&on, 300);
    BEGIN(&runs, here, "hold(u32) -> void", 600, 60000);
    BEGIN(&over, late, "hold(u32) -> void", seconds * 1000 + 600, 200);
    look_for(&on, 250); /* so that all are asked how they are, and two cannot say yet */
    stand_still(seconds, NULL, 0);
    look_for(&on, 1500);
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.status, 0);
    assert_int_equal(over.count, 1);
    assert_int_equal(over.status, -ETIMEDOUT);
    assert_int_equal(on.told.down, 0);
    assert_int_equal(pid_in(&on, here), pids[0]);
    assert_int_equal(pid_in(&on, idle), pids[1]);
    assert_int_equal(pid_in(&on, late), pids[2]);
    close_host(&on);
}

/* Host and guests at once, and the host goes on first. r[verify supervise.watchdog.pause] */
static void nobody_is_killed_for_a_pause_of_the_machine(void **state)
{
    struct ending runs = {0};
    struct hosting on;
    int32_t pids[3];

    (void)state;
    open_three(&on, pids);
    look_for(&on, 300);
    BEGIN(&runs, here, "nap(u32)", 100, 60000);
    BEGIN(&runs, here, "nap(u32)", 100, 60000);
    stand_still(2, pids, 3);
    look_for(&on, 1000);
    assert_int_equal(runs.count, 2);
    assert_int_equal(runs.status, 0);
    assert_int_equal(on.told.down, 0);
    assert_int_equal(pid_in(&on, here), pids[0]);
    assert_int_equal(pid_in(&on, idle), pids[1]);
    close_host(&on);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_killed_for_a_pause_of_the_host),
        cmocka_unit_test(nobody_is_killed_for_a_pause_of_the_machine),
    };

    if (count > 1)
        seconds = (unsigned)strtoul(arguments[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
