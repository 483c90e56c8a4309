/* SPDX-License-Identifier: Apache-2.0 */
/* stage: a host without processes, whose observers and monitors are told as hooks.c has them
 * told. */
#ifndef TESTS_UNIT_HOST_OBSERVE_STAGE_H
#define TESTS_UNIT_HOST_OBSERVE_STAGE_H

#include <rapahub/supervise.h>

#include "host/observe/observe.h"
#include "host/observe/observer.h"
#include "host/supervise/supervisor.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_supervision manual = {.start = RAPAHUB_START_MANUAL};
static const struct rapahub_supervision eager = {.restarts_max = 5};

static void tell_added(struct host_supervision *host, uint32_t place)
{
    host_observer_added(HOST_OBSERVE(host), place);
}

static void tell_deciding(struct host_supervision *host, const struct host_decision *decision)
{
    host_observer_moved(HOST_OBSERVE(host), decision);
}

static void tell_decided(struct host_supervision *host, const struct host_decision *decision)
{
    host_monitors_moved(HOST_OBSERVE(host), decision);
}

UNUSED static struct host_observe *observe_new(void)
{
    static struct host_supervision_hooks hooks;
    struct host_observe *host = test_calloc(1, sizeof *host);

    hooks = stage_hooks;
    hooks.listeners = (struct host_supervision_listeners){tell_added, tell_deciding, tell_decided};
    host_monitors_init(&host->monitors);
    hub_list_init(&host->observers);
    stage_open(&host->supervision);
    host->supervision.hooks = &hooks;
    return host;
}

UNUSED static void observe_free(struct host_observe *host)
{
    host->supervision.hooks = &stage_hooks;
    host_monitors_fini(&host->monitors);
    assert_int_equal(host->monitors.count, 0);
    host_observer_end_all(host);
    stage_close(&host->supervision);
    test_free(host);
}

UNUSED static struct rapahub_host *handle(struct host_observe *host)
{
    return (struct rapahub_host *)(void *)host;
}

/* A guest that serves, below the default supervisor. */
UNUSED static struct host_guest *serving(struct host_observe *host, const char *name)
{
    struct host_guest *guest = stage_add(&host->supervision, HOST_SUPERVISION_ROOT, name, eager);

    stage_serve(guest);
    return guest;
}

UNUSED static struct rapahub_child_id id_of(const struct host_guest *guest)
{
    return (struct rapahub_child_id){stage_child(guest)->number};
}

/* As when its process died of a signal. */
UNUSED static void kill_guest(struct host_guest *guest)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};

    host_supervision_exited(guest, &ending);
}

#endif
