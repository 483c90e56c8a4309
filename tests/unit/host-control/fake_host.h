/* SPDX-License-Identifier: Apache-2.0 */
/* fake_host: a host that is made of a few variables: one guest "calc", one call at a time. */
#ifndef TESTS_UNIT_HOST_CONTROL_FAKE_HOST_H
#define TESTS_UNIT_HOST_CONTROL_FAKE_HOST_H

#include <string.h>

#include <rapahub/control.h>
#include <rapahub/error.h>

#include "tests/support/testing.h"

struct rapahub_host {
    rapahub_on_done *done;
    void *done_user;
    rapahub_on_upgraded *upgraded; /* NULL: no upgrade is under way */
    void *upgraded_user;
    rapahub_on_done *ended; /* for a stop or a restart; NULL: none is under way */
    void *ended_user;
    struct rapahub_upgrade_result upgrade_result;
    unsigned calls, cancels, stops, kills, host_stops, restarts, upgrades;
    int64_t arguments[2];
    struct rapahub_container_id target;
};

static int fake_guests(struct rapahub_host *host,
                       void (*visit)(void *user, const struct rapahub_guest_status *status),
                       void *user)
{
    const struct rapahub_guest_status calc = {.guest = {.group = 9, .epoch = 2, .peer = 1},
                                              .name = "calc",
                                              .state = "ready",
                                              .chimod = "build/calc.so",
                                              .version = "0.1.0",
                                              .pid = 4177};

    (void)host;
    visit(user, &calc);
    return 0;
}

static int fake_methods(struct rapahub_host *host, struct rapahub_container_id target,
                        void (*visit)(void *user, const char *signature), void *user)
{
    host->target = target;
    visit(user, "add(i64, i64) -> i64");
    visit(user, "nothing() -> void");
    return 0;
}

static int fake_call(struct rapahub_host *host, const struct rapahub_call *call,
                     rapahub_on_done *on_done, void *user, struct rapahub_request_id *out)
{
    if (host->done)
        return rapahub_fail(RAPAHUB_EBUSY, "", "one call at a time");
    host->calls++;
    host->target = call->target;
    for (unsigned i = 0; i < 2 && call->types[1 + i]; i++)
        host->arguments[i] = *(const int64_t *)call->arguments[i];
    host->done = on_done;
    host->done_user = user;
    out->number = 77;
    return 0;
}

static void fake_cancel(struct rapahub_host *host, struct rapahub_request_id request)
{
    assert_int_equal(request.number, 77);
    host->cancels++;
}

static int fake_end(struct rapahub_host *host, rapahub_on_done *on_done, void *user)
{
    if (host->ended)
        return rapahub_fail(RAPAHUB_ESTALE, "", "that life has ended");
    host->ended = on_done;
    host->ended_user = user;
    return 0;
}

static int fake_stop(struct rapahub_host *host, struct rapahub_guest_id guest,
                     rapahub_on_done *on_done, void *user)
{
    assert_int_equal(guest.group, 9);
    host->stops++;
    return fake_end(host, on_done, user);
}

static int fake_kill(struct rapahub_host *host, struct rapahub_guest_id guest)
{
    (void)guest;
    host->kills++;
    return rapahub_fail(RAPAHUB_ESTALE, "shm.slot.free", "that life has ended");
}

static int fake_figures(struct rapahub_host *host, struct rapahub_guest_id guest,
                        void (*visit)(void *user, const struct rapahub_figure *figure), void *user)
{
    const struct rapahub_figure sent = {.name = "messages_sent", .rule = "", .value = 12};
    const struct rapahub_figure broken = {
        .name = "violations", .rule = "shm.ring.capacity", .value = 1};

    (void)host;
    assert_int_equal(guest.group, 9);
    visit(user, &sent);
    visit(user, &broken);
    return 0;
}

static int fake_children(struct rapahub_host *host,
                         void (*visit)(void *user, const struct rapahub_child_status *status),
                         void *user)
{
    const struct rapahub_child_status root = {
        .child = {1}, .name = "calc", .state = "ready", .is_supervisor = true};
    const struct rapahub_child_status calc = {.child = {7},
                                              .name = "calc",
                                              .state = "backoff",
                                              .incarnation = 3,
                                              .restarts = 2,
                                              .failures = 1,
                                              .failures_max = 5,
                                              .due_ns = 99,
                                              .parent = {1}};

    (void)host;
    visit(user, &root);
    visit(user, &calc);
    return 0;
}

static int fake_restart(struct rapahub_host *host, struct rapahub_child_id child,
                        uint64_t timeout_ns, rapahub_on_done *on_done, void *user)
{
    assert_int_equal(child.number, 7);
    assert_true(timeout_ns > 0);
    host->restarts++;
    return fake_end(host, on_done, user);
}

static int fake_upgrade(struct rapahub_host *host, struct rapahub_guest_id guest,
                        const struct rapahub_upgrade_options *options, rapahub_on_upgraded *on_done,
                        void *user)
{
    assert_int_equal(guest.group, 9);
    host->upgrades++;
    if (strcmp(options->chimod, "/new.so") != 0)
        return rapahub_fail(RAPAHUB_ESTATE, "", "%s is another module", options->chimod);
    host->upgraded = on_done;
    host->upgraded_user = user;
    host->upgrade_result = (struct rapahub_upgrade_result){.version_before = "1",
                                                           .version_after = "2",
                                                           .blackout_ns = options->timeout_ns,
                                                           .methods_lost = options->check};
    return 0;
}

#endif
