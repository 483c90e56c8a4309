/* SPDX-License-Identifier: Apache-2.0 */
/* stage: as much of a host as its guests need: tables, locks, a loop, a machine of supervisors. No
 * guest has a process: what is decided is shown, and one that is asked to stop has ended. The
 * thread that opens it owns it. */
#ifndef TESTS_UNIT_HOST_GUEST_STAGE_H
#define TESTS_UNIT_HOST_GUEST_STAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/call/caller.h"
#include "host/guest/guest_record.h"
#include "host/guest/guest_table.h"
#include "host/guest/supervision.h"
#include "host/owner/wait.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define UNUSED     __attribute__((unused))
#define GUESTS_MAX 3

/* ---- what the floors above would do ---- */

static void stage_on_guest(struct host_guest *guest)
{
    (void)guest;
}

static void stage_show(struct host_guest *guest, const struct host_decision *decision)
{
    host_guest_show(guest, (enum host_guest_state)decision->to, decision->over);
}

static void stage_end(struct host_guest *guest)
{
    const struct host_ending ending = {.class = RAPAHUB_EXIT_CLEAN};

    host_supervision_exited(guest, &ending);
}

static void stage_on_end(struct host_life *life, enum host_cause cause, const char *why)
{
    (void)life;
    (void)cause;
    (void)why;
}

static void stage_on_place(struct host_supervision *host, uint32_t place)
{
    (void)host;
    (void)place;
}

static void stage_on_decision(struct host_supervision *host, const struct host_decision *decision)
{
    (void)host;
    (void)decision;
}

static const struct host_supervision_hooks stage_hooks = {
    .decisions = {.start = stage_on_guest,
                  .move = stage_show,
                  .ask = stage_end,
                  .finish = stage_on_guest,
                  .end = stage_on_end},
    .listeners = {.added = stage_on_place,
                  .deciding = stage_on_decision,
                  .decided = stage_on_decision},
};

static int stage_turn(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return host_loop_turn(&owner->loop, 0);
}

static int stage_until(struct host_owner *owner, uint64_t deadline_ns)
{
    (void)deadline_ns;
    return host_loop_turn(&owner->loop, 0);
}

static const struct host_turns stage_turns = {stage_turn, stage_until};

/* ---- the host ---- */

/* `host` is zeroed. */
UNUSED static void stage_open(struct host_supervision *host)
{
    struct host_owner *owner = HOST_OWNER(host);
    struct host_options *options = &host->call.process.options;

    assert_int_equal(host_caller_open(&owner->registry.callers), 0);
    host_routes_init(&owner->registry.routes);
    host_containers_init(&owner->registry.containers);
    owner->registry.guests_max = GUESTS_MAX;
    owner->registry.guests = test_calloc(GUESTS_MAX, sizeof *owner->registry.guests);
    host_threads_init(&owner->threads);
    assert_int_equal(host_loop_init(&owner->loop, 8), 0);
    hub_list_init(&owner->detached);
    host_changes_init(&owner->changes);
    owner->turns = &stage_turns;
    hub_list_init(&host->call.process.lives);
    hub_list_init(&host->call.process.ended);
    host_modules_init(&host->call.process.modules);
    assert_int_equal(hub_closer_create(&host->call.process.closer), 0);
    options->call_timeout_ns = HUB_SECOND;
    options->starts_parallel_max = options->starts_burst = options->starts_per_s = 100;
    hub_list_init(&host->supervisors);
    host->hooks = &stage_hooks;
    assert_int_equal(host_supervision_open(host), 0);
}

UNUSED static void stage_close(struct host_supervision *host)
{
    struct host_owner *owner = HOST_OWNER(host);

    for (uint32_t i = 0; i < GUESTS_MAX; i++)
        if (owner->registry.guests[i])
            host_guest_table_forget(host, i);
    host_supervision_close(host);
    hub_closer_release(&host->call.process.closer);
    host_modules_fini(&host->call.process.modules);
    host_loop_fini(&owner->loop);
    host_threads_fini(&owner->threads);
    host_containers_fini(&owner->registry.containers);
    test_free(owner->registry.guests);
    host_routes_fini(&owner->registry.routes);
    host_caller_close(&owner->registry.callers);
}

UNUSED static struct host_supervision *stage_new(void)
{
    struct host_supervision *host = test_calloc(1, sizeof *host);

    stage_open(host);
    return host;
}

UNUSED static void stage_free(struct host_supervision *host)
{
    stage_close(host);
    test_free(host);
}

/* ---- its guests ---- */

/* One that is in no table, and nobody's child. */
UNUSED static struct host_guest *stage_guest(struct host_supervision *host, const char *name)
{
    struct host_guest *guest = calloc(1, sizeof *guest);

    assert_non_null(guest);
    guest->host = &host->call.process;
    guest->module.fd = -1;
    guest->child.node = HOST_TREE_NONE;
    guest->ends.rule = "";
    guest->module.chimod = strdup("/lib/chimod.so");
    guest->named = HOST_GUEST_NAMED_BY_CALLER;
    hub_list_init(&guest->containers);
    snprintf(guest->name, sizeof guest->name, "%s", name);
    return guest;
}

/* One in the table. */
UNUSED static struct host_guest *stage_enter(struct host_supervision *host, const char *name)
{
    struct host_guest *guest = stage_guest(host, name);
    uint32_t place;

    assert_int_equal(host_guest_table_enter(guest, &place), 0);
    return guest;
}

/* The same, below the supervisor at this place. */
UNUSED static struct host_guest *stage_add(struct host_supervision *host, uint32_t group,
                                           const char *name, struct rapahub_supervision how)
{
    struct host_guest *guest = stage_enter(host, name);

    guest->child.supervisor = group;
    assert_int_equal(host_supervision_add(guest, &how, false), 0);
    return guest;
}

UNUSED static void stage_serve(struct host_guest *guest)
{
    host_supervision_attached(guest);
    host_supervision_ready(guest);
    assert_int_equal(guest->state, HOST_GUEST_READY);
}

UNUSED static struct host_child *stage_child(const struct host_guest *guest)
{
    return host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node);
}

UNUSED static struct host_container *stage_container(struct host_guest *guest, uint32_t number)
{
    const struct rapahub_container_options options = {.id = {{1, 0}, number}, .pool_name = "pool"};
    struct host_registry *registry = HOST_REGISTRY(guest->host);
    struct host_container *container;

    host_routes_write(&registry->routes);
    assert_int_equal(host_containers_add(&registry->containers, &options, &container), 0);
    container->guest = guest;
    hub_list_append(&guest->containers, &container->of_guest);
    host_routes_unlock(&registry->routes);
    return container;
}

#endif
