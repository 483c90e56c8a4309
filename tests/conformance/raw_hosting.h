/* SPDX-License-Identifier: Apache-2.0 */
/* raw hosting: a raw host that starts our guest program with the module echo. */
#ifndef TESTS_CONFORMANCE_RAW_HOSTING_H
#define TESTS_CONFORMANCE_RAW_HOSTING_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/raw/raw_host.h"
#include "tests/raw/raw_module.h"
#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define CALL_MS 10000

struct raw_hosting {
    struct raw_host host;
    struct raw_link link;
    struct raw_program program;
    struct leak *leak;
    int module;  /* descriptor of the module, which the guest inherits */
    uint32_t id; /* id of the last request */
};

#define FLOW_MODULE   TEST_PREFIX "/tests/modules/flow.so"
#define MIRROR_MODULE TEST_PREFIX "/tests/modules/mirror.so"

#define GUEST PROCESS_LIBEXEC("rapahub/rapahub-guest")

/* The segment, and the entry of guest 1, reserved; `guest_bell` as in raw_host_reserve. */
__attribute__((unused)) static void raw_hosting_prepare_module(struct raw_hosting *on,
                                                               const struct raw_config *config,
                                                               enum raw_bell bell, int *guest_bell,
                                                               const char *module)
{
    /* Its exit status is looked at here; what it leaves to the kernel is for its own tests. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    struct raw_behaviour behaviour = on->link.behaviour;

    memset(on, 0, sizeof(*on));
    on->link.behaviour = behaviour;
    on->leak = leak_begin();
    assert_int_equal(raw_host_create(config, &on->host), 0);
    assert_int_equal(raw_host_reserve(&on->host, 1, bell, &on->link, guest_bell), 0);
    on->module = open(module, O_RDONLY);
    assert_true(on->module >= 0);
}

__attribute__((unused)) static void raw_hosting_prepare(struct raw_hosting *on,
                                                        const struct raw_config *config,
                                                        enum raw_bell bell, int *guest_bell)
{
    on->link.behaviour = (struct raw_behaviour){0};
    raw_hosting_prepare_module(on, config, bell, guest_bell, PROCESS_CHIMOD("echo"));
}

/* 3 and 4 are taken by the ticket, which overwrites what stands there in the child.
 * Starts rapahub-guest with this ticket. Fails the test if it cannot be started. */
__attribute__((unused)) static void raw_hosting_spawn(struct raw_hosting *on, int guest_bell)
{
    char module[32];
    const char *const argv[] = {GUEST, module, "--module-name=echo.so", NULL};
    int fd = fcntl(on->module, F_DUPFD, 20);

    assert_true(fd >= 0);
    snprintf(module, sizeof(module), "--module-fd=%d", fd);
    assert_int_equal(raw_host_spawn(&on->host, &on->link, argv, guest_bell, &on->program), 0);
    leak_adopt(on->leak, on->program.pid);
    close(fd);
}

/* All of it, until the container has begun: calls are answered. */
__attribute__((unused)) static void raw_hosting_open(struct raw_hosting *on,
                                                     const struct raw_config *config,
                                                     enum raw_bell bell)
{
    int guest_bell;

    raw_hosting_prepare(on, config, bell, &guest_bell);
    raw_hosting_spawn(on, guest_bell);
    assert_int_equal(raw_host_await(&on->link, CALL_MS), 0);
    assert_int_equal(raw_module_await_ready(&on->link, CALL_MS), 0);
    assert_int_equal(raw_module_begin(&on->link, ++on->id, CALL_MS), 0);
}

/* The same with a module that tests have; the behaviour of on->link is set before. */
__attribute__((unused)) static void raw_hosting_open_module(struct raw_hosting *on,
                                                            const struct raw_config *config,
                                                            enum raw_bell bell, const char *module)
{
    int guest_bell;

    raw_hosting_prepare_module(on, config, bell, &guest_bell, module);
    raw_hosting_spawn(on, guest_bell);
    assert_int_equal(raw_host_await(&on->link, CALL_MS), 0);
    assert_int_equal(raw_module_await_ready(&on->link, CALL_MS), 0);
    assert_int_equal(raw_module_begin(&on->link, ++on->id, CALL_MS), 0);
}

/* Releases the rest, after the program was reaped. */
__attribute__((unused)) static void raw_hosting_release(struct raw_hosting *on)
{
    raw_link_fini(&on->link);
    raw_host_destroy(&on->host);
    close(on->module);
    leak_assert_none(on->leak);
}

/* Waits for its end, which must have this status; releases all. */
__attribute__((unused)) static void raw_hosting_reap(struct raw_hosting *on, int status)
{
    assert_int_equal(raw_host_reap(&on->program, CALL_MS), status);
    raw_hosting_release(on);
}

/* Says goodbye, then the same. */
__attribute__((unused)) static void raw_hosting_close(struct raw_hosting *on, int status)
{
    raw_host_goodbye(&on->host, &on->link);
    raw_hosting_reap(on, status);
}

/* 0 if the child `pid` ends within the time; it is not taken. -ETIMEDOUT. */
__attribute__((unused)) static int raw_hosting_ends_within(pid_t pid, int timeout_ms)
{
    struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    int r;

    if (end.fd < 0)
        return -errno;
    r = poll(&end, 1, timeout_ms) == 1 ? 0 : -ETIMEDOUT;
    close(end.fd);
    return r;
}

#endif
