/* SPDX-License-Identifier: Apache-2.0 */
/* visiting: guests that a test starts itself, as a person would, and hosts that take them. */
#ifndef TESTS_INTEGRATION_VISITING_H
#define TESTS_INTEGRATION_VISITING_H

#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/process.h"

#define PROGRAM PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define SECOND  UINT64_C(1000000000)

UNUSED static const struct rapahub_host_options small = {
    .anonymous = true, .guests_max = 4, .slot_size = 4096, .slot_count = 16};

/* A guest of its own, as a person would start it. */
struct anonymous_guest {
    struct process process;
    char path[160];
};

UNUSED static void send_anonymous_guest(struct anonymous_guest *anonymous_guest, const char *path,
                                        const char *module)
{
    const char *const argv[] = {PROGRAM, anonymous_guest->path, module, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 10 * SECOND};

    snprintf(anonymous_guest->path, sizeof anonymous_guest->path, "--hub-path=%s", path);
    assert_int_equal(process_start(&options, &anonymous_guest->process), 0);
}

/* Its end, where the host has nothing more to do for it; 1,000 + the number of a signal. */
UNUSED static int end_of(struct anonymous_guest *anonymous_guest)
{
    struct process_result result;
    int status;

    assert_int_equal(process_finish(&anonymous_guest->process, &result), 0);
    status = result.signal ? 1000 + result.signal : result.status;
    if (status != 0 && getenv("TEST_LOG"))
        print_error("%s", result.err);
    process_result_fini(&result);
    return status;
}

UNUSED static struct rapahub_guest_id await_anonymous_guest(struct hosting *on)
{
    assert_true(until(on, &on->told.attached, on->told.attached + 1));
    return on->told.guest;
}

UNUSED static struct rapahub_guest_id take_in(struct hosting *on,
                                              struct anonymous_guest *anonymous_guest)
{
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    struct rapahub_guest_id guest;

    send_anonymous_guest(anonymous_guest, rapahub_host_path(on->host), CALC);
    guest = await_anonymous_guest(on);
    assert_done(rapahub_host_add_container(on->host, guest, &container));
    return guest;
}

UNUSED static void open_small(struct hosting *on)
{
    open_host(on, small);
}

/* A host in a process of its own. */
struct other_host {
    pid_t pid;
    int pipe[2];
    char path[128];
};

UNUSED static void run_other_host(struct other_host *other)
{
    struct rapahub_host *host;

    if (rapahub_host_create(&small, &host) < 0)
        _exit(1);
    if (write(other->pipe[1], rapahub_host_path(host), sizeof other->path) < 0)
        _exit(1);
    for (;;)
        if (rapahub_host_dispatch(host, 1000) < 0)
            _exit(1);
}

UNUSED static void start_other_host(struct other_host *other)
{
    assert_int_equal(pipe2(other->pipe, O_CLOEXEC), 0);
    other->pid = fork();
    assert_true(other->pid >= 0);
    if (other->pid == 0)
        run_other_host(other);
    assert_int_equal(read(other->pipe[0], other->path, sizeof other->path), sizeof other->path);
    close(other->pipe[0]);
    close(other->pipe[1]);
}

UNUSED static void kill_other_host(const struct other_host *other)
{
    kill(other->pid, SIGKILL);
    assert_int_equal(waitpid(other->pid, NULL, 0), other->pid);
}

#endif
