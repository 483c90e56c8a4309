/* SPDX-License-Identifier: Apache-2.0 */
/* No program is ever run: each order fails at another step, and leaves no child. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/process/spawn.h"
#include "tests/support/testing.h"

static char *const nothing[] = {NULL};
static const struct host_limits no_limits;

static struct host_spawn_order order_of(void)
{
    return (struct host_spawn_order){.program = "/nowhere/program",
                                     .arguments = nothing,
                                     .environment = nothing,
                                     .count = 3,
                                     .descriptors = {0, 1, 2},
                                     .limits = &no_limits};
}

/* The order fails at this step with this error, and there is no child then. */
static void fails(const struct host_spawn_order *order, const char *step, int error)
{
    struct host_spawned spawned = {.pid = 77, .pidfd = 78};
    struct host_spawner *spawner;
    siginfo_t info;

    assert_int_equal(host_spawn_open(&spawner), 0);
    assert_int_equal(host_spawn(spawner, order, &spawned), error);
    assert_string_equal(spawned.step, step);
    assert_non_null(strstr(rapahub_last_error()->text, step));
    assert_true(spawned.pid == 77 && spawned.pidfd == 78);
    assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
    host_spawn_close(&spawner);
    assert_null(spawner);
}

static void a_program_that_cannot_be_executed_was_never_started(void **state)
{
    struct host_spawn_order order = order_of();

    (void)state;
    fails(&order, "exec", -ENOENT);
    order.program = "/";
    fails(&order, "exec", -EACCES);
}

/* r[verify hub.spawn.fds] */
static void a_descriptor_that_is_not_open_is_refused_and_minus_one_is_not(void **state)
{
    struct host_spawn_order order = order_of();

    (void)state;
    order.descriptors[1] = 1000000;
    fails(&order, "descriptors", -EBADF);
    order.descriptors[1] = -1;
    fails(&order, "exec", -ENOENT);
}

/* Descriptors are moved beyond the numbers that they are to have. */
static void descriptors_that_cannot_be_moved_away_are_too_many(void **state)
{
    struct host_spawn_order order = order_of();
    struct rlimit before, few;

    (void)state;
    order.count = HOST_SPAWN_DESCRIPTORS;
    for (int i = 3; i < order.count; i++)
        order.descriptors[i] = -1;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){HOST_SPAWN_DESCRIPTORS, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    fails(&order, "descriptors", -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* r[verify supervise.limits.cgroup] */
static void a_cgroup_that_cannot_be_entered_stops_the_start(void **state)
{
    struct host_spawn_order order = order_of();

    (void)state;
    order.confined = true;
    order.cgroup = -1;
    fails(&order, "cgroup", -EBADF);
    order.confined = false;
    fails(&order, "exec", -ENOENT);
}

static void the_cgroup_is_entered_before_anything_else_is_done(void **state)
{
    struct host_spawn_order order = order_of();
    char text[4] = "";
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    order.confined = true;
    order.cgroup = ends[1];
    order.descriptors[1] = 1000000;
    fails(&order, "descriptors", -EBADF);
    assert_int_equal(read(ends[0], text, sizeof text - 1), 1);
    assert_string_equal(text, "0");
    close(ends[0]);
    close(ends[1]);
}

static void a_limit_that_the_kernel_refuses_is_named(void **state)
{
    struct host_limits limits = {
        .count = 2, .list = {{RLIMIT_CORE, "core", {0, 0}}, {RLIMIT_NOFILE, "open_files", {2, 1}}}};
    struct host_spawn_order order = order_of();
    struct rlimit core, own;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_CORE, &own), 0);
    order.limits = &limits;
    fails(&order, "open_files", -EINVAL);
    assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
    assert_true(core.rlim_max == own.rlim_max); /* the child's, and not the host's */
}

/* A child shares the memory of its spawner for a moment, and must not share its descriptors. */
static void the_host_keeps_its_own_descriptors(void **state)
{
    struct host_spawn_order order = order_of();
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    order.descriptors[0] = fd;
    order.descriptors[1] = order.descriptors[2] = -1;
    fails(&order, "exec", -ENOENT);
    assert_true(fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static void a_command_that_cannot_be_executed_is_named(void **state)
{
    char *const command[] = {(char[]){"/nowhere/command"}, NULL};
    struct host_spawned spawned = {.pid = 77, .pidfd = 78};

    (void)state;
    assert_int_equal(host_spawn_command(command, nothing, &spawned), -ENOENT);
    assert_int_equal(spawned.pidfd, -1);
    assert_non_null(strstr(rapahub_last_error()->text, "/nowhere/command"));
}

static void a_spawner_that_was_never_opened_may_be_closed(void **state)
{
    struct host_spawner *spawner = NULL;

    (void)state;
    host_spawn_close(&spawner);
    assert_null(spawner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_cannot_be_executed_was_never_started),
        cmocka_unit_test(a_descriptor_that_is_not_open_is_refused_and_minus_one_is_not),
        cmocka_unit_test(descriptors_that_cannot_be_moved_away_are_too_many),
        cmocka_unit_test(a_cgroup_that_cannot_be_entered_stops_the_start),
        cmocka_unit_test(the_cgroup_is_entered_before_anything_else_is_done),
        cmocka_unit_test(a_limit_that_the_kernel_refuses_is_named),
        cmocka_unit_test(the_host_keeps_its_own_descriptors),
        cmocka_unit_test(a_command_that_cannot_be_executed_is_named),
        cmocka_unit_test(a_spawner_that_was_never_opened_may_be_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
