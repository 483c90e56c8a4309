/* SPDX-License-Identifier: Apache-2.0 */
/* A guest dies, another process collects its status, and its number is given to a stranger,
 * between any two steps of its host and right before each signal that the host sends: no stranger
 * is hit. */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/upgrade.h>

#include "tests/fault/thief.h"
#include "tests/integration/child.h"
#include "tests/support/process.h"

#define CHANCES 8 /* more than any of the ways has */

static bool possible;

struct world {
    struct hosting on;
    struct rapahub_supervisor *root;
    int32_t pid;
    struct process anonymous_guest;
};

/* Short times, so that each step comes to its turn. */
static const struct rapahub_supervision brief = {.restart = RAPAHUB_RESTART_TRANSIENT,
                                                 .goodbye_ns = 20 * MS,
                                                 .term_ns = 20 * MS,
                                                 .abort_ns = 20 * MS,
                                                 .start_timeout_ns = 2 * SECOND};

static void open_with(struct world *world, const char *module, struct rapahub_supervision how)
{
    open_host(&world->on, (struct rapahub_host_options){.heartbeat_ns = 50 * MS});
    assert_done(start(&world->on, module, here, &how));
}

/* It hears no goodbye, no SIGTERM, and does not beat. */
static void open_deaf(struct world *world, struct rapahub_supervision how)
{
    open_with(world, CALC, how);
    world->pid = pid_of(&world->on);
    assert_int_equal(thief_stop(world->pid), 0);
}

static bool has_ended(struct world *world)
{
    return until(&world->on, &world->on.told.down, 1);
}

/* ---- the ways to be signalled ---- */

static void kill_it(struct world *world)
{
    open_with(world, CALC, brief);
    (void)!rapahub_host_kill(world->on.host, world->on.guest);
    assert_true(has_ended(world));
}

static void stop_it(struct world *world)
{
    struct rapahub_supervision how = brief;

    how.debug = true; /* else it is stuck before */
    open_deaf(world, how);
    (void)!rapahub_host_stop(world->on.host, world->on.guest);
    assert_true(has_ended(world));
}

static void stop_it_brutally(struct world *world)
{
    struct rapahub_supervision how = brief;

    how.brutal = true;
    open_deaf(world, how);
    (void)!rapahub_host_stop(world->on.host, world->on.guest);
    assert_true(has_ended(world));
}

static void let_it_be_stuck(struct world *world)
{
    open_deaf(world, brief);
    assert_true(has_ended(world));
}

static void let_it_hang_up(struct world *world)
{
    open_with(world, MODULE("hinter"), brief);
    (void)!ask(&world->on, "hang_up()", NULL, NULL);
    assert_true(has_ended(world));
}

static void let_it_crash(struct world *world)
{
    open_with(world, CALC, brief);
    (void)!ask(&world->on, "crash()", NULL, NULL);
    assert_true(has_ended(world));
}

static void let_it_start_late(struct world *world)
{
    struct rapahub_supervision how = brief;

    open_host(&world->on, (struct rapahub_host_options){0});
    how.start_timeout_ns = 50 * MS;
    assert_true(start(&world->on, MODULE("constructor_loop"), here, &how) < 0);
}

static void end_the_host(struct world *world)
{
    struct rapahub_supervision how = brief;

    how.debug = true;
    open_deaf(world, how);
}

static void upgrade_in_vain(struct world *world)
{
    const struct rapahub_upgrade_options bad = {.chimod = MODULE("ledger_load_fails")};
    struct rapahub_upgrade_result result;

    open_with(world, MODULE("ledger"), brief);
    assert_true(rapahub_host_upgrade(world->on.host, world->on.guest, &bad, &result) < 0);
}

/* It came by itself: its host knows it by a number first, and by its lock. */
static void take_in_and_kill(struct world *world)
{
    const char *const argv[] = {PROCESS_LIBEXEC("rapahub/rapahub-guest"), NULL, CALC, NULL};
    const char *path[4];
    char option[160];
    const struct process_options options = {.argv = path, .within_ns = 10 * SECOND};

    open_host(&world->on, (struct rapahub_host_options){.anonymous = true});
    snprintf(option, sizeof option, "--hub-path=%s", rapahub_host_path(world->on.host));
    memcpy(path, argv, sizeof path);
    path[1] = option;
    assert_int_equal(process_start(&options, &world->anonymous_guest), 0);
    thief_tell(world->anonymous_guest.pid);
    for (uint64_t end = now_ms() + 2000; world->on.told.attached == 0 && now_ms() < end;)
        assert_true(rapahub_host_dispatch(world->on.host, 10) >= 0);
    if (world->on.told.attached == 0)
        return; /* it was taken while it came */
    (void)!rapahub_host_kill(world->on.host, world->on.told.guest);
    assert_true(has_ended(world));
}

static const struct {
    const char *name;
    void (*run)(struct world *world);
    unsigned least; /* so many chances there are */
} ways[] = {
    {"kill", kill_it, 2},
    {"stop", stop_it, 3},
    {"brutal stop", stop_it_brutally, 2},
    {"watchdog", let_it_be_stuck, 3},
    {"hang-up", let_it_hang_up, 2},
    {"crash", let_it_crash, 1},
    {"start time-out", let_it_start_late, 2},
    {"end of the host", end_the_host, 3},
    {"upgrade in vain", upgrade_in_vain, 3},
    {"visitor", take_in_and_kill, 2},
};

static void close_world(struct world *world)
{
    struct process_result result;

    rapahub_host_destroy(world->on.host);
    if (world->anonymous_guest.pid != 0) {
        (void)process_finish(&world->anonymous_guest, &result);
        process_result_fini(&result);
    }
}

/* Returns whether there was such a chance. */
static bool run_way(size_t way, unsigned at, bool old, bool *seized)
{
    struct world world = {0};
    enum thief_end end;
    unsigned chances;

    thief_arm(at, old);
    ways[way].run(&world);
    close_world(&world);
    chances = thief_chances();
    end = thief_disarm();
    if (end == THIEF_BYSTANDER)
        fail_msg("%s: signal %u hit a stranger", ways[way].name, at);
    *seized = *seized || end == THIEF_STRANGER;
    if (at == 0 && chances < ways[way].least && end == THIEF_NONE)
        fail_msg("%s: %u signals only", ways[way].name, chances);
    leak_assert_none(world.on.leak);
    return end != THIEF_NONE;
}

static void run_ways(bool old)
{
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        bool seized = false;
        unsigned at = 0;

        while (at < CHANCES && run_way(way, at, old, &seized))
            at++;
        print_message("%s: %u signals\n", ways[way].name, at);
        assert_in_range(at, 1, CHANCES - 1);
        assert_true(seized || (old && ways[way].run == let_it_crash));
    }
}

/* r[verify supervise.signal] */
static void no_signal_reaches_who_got_the_number_of_a_dead_guest(void **state)
{
    (void)state;
    if (!possible)
        skip();
    run_ways(false);
}

/* A group is signalled by its number only while no other process can have it.
 * r[verify supervise.signal] */
static void nor_where_a_group_is_signalled_by_its_number(void **state)
{
    (void)state;
    if (!possible)
        skip();
    run_ways(true);
}

static bool has_group_signals(void)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    bool has = pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 4) == 0;

    if (pidfd >= 0)
        close(pidfd);
    return has || errno == ESRCH; /* it leads no group */
}

/* Its group is still its own: none gets the number as long as one is in it.
 * r[verify supervise.kill-mode] */
static void a_group_is_killed_also_where_somebody_else_took_the_status(void **state)
{
    struct world world = {0};
    struct pollfd left = {.events = POLLIN};
    siginfo_t info;
    int32_t pid = 0;

    (void)state;
    if (!possible || !has_group_signals())
        skip();
    thief_arm(0, false);
    open_with(&world, MODULE("forker"), brief);
    assert_done(ask(&world.on, "leave_child() -> i32", NULL, &pid));
    left.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(left.fd >= 0);
    (void)!rapahub_host_kill(world.on.host, world.on.guest);
    assert_true(has_ended(&world));
    assert_int_equal(poll(&left, 1, 5000), 1);
    (void)waitid(P_PIDFD, (id_t)left.fd, &info, WEXITED | WNOHANG); /* the first process has it */
    close(left.fd);
    close_world(&world);
    assert_int_equal(thief_disarm(), THIEF_HELD);
    leak_assert_none(world.on.leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_signal_reaches_who_got_the_number_of_a_dead_guest),
        cmocka_unit_test(nor_where_a_group_is_signalled_by_its_number),
        cmocka_unit_test(a_group_is_killed_also_where_somebody_else_took_the_status),
    };

    possible = thief_begin();
    if (!possible)
        print_message("pid_reuse: skipped: nobody here may choose the number of a process\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
