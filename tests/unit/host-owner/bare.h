/* SPDX-License-Identifier: Apache-2.0 */
/* bare: the floor of the owner alone, with a loop and without guests. The calling thread owns it. A
 * turn of it is one of its loop, and the jobs that may run in a turn. */
#ifndef TESTS_UNIT_HOST_OWNER_BARE_H
#define TESTS_UNIT_HOST_OWNER_BARE_H

#include <string.h>

#include "host/owner/owner.h"
#include "tests/support/testing.h"

static inline int bare_turn(struct host_owner *host, int timeout_ms)
{
    int handled = host_loop_turn(&host->loop, timeout_ms);

    return handled < 0 ? handled : handled + host_threads_serve(host, false);
}

static inline int bare_until(struct host_owner *host, uint64_t deadline_ns)
{
    (void)deadline_ns;
    return bare_turn(host, 0);
}

static const struct host_turns bare_turns = {bare_turn, bare_until};

static inline void bare_open(struct host_owner *host)
{
    memset(host, 0, sizeof *host);
    host->registry.callers.number = 1; /* it is not a forked child */
    host_routes_init(&host->registry.routes);
    host_threads_init(&host->threads);
    assert_int_equal(host_loop_init(&host->loop, 4), 0);
    host_events_init(&host->events);
    hub_list_init(&host->detached);
    host_changes_init(&host->changes);
    host->turns = &bare_turns;
}

static inline void bare_close(struct host_owner *host)
{
    host_events_fini(&host->events);
    host_loop_fini(&host->loop);
    host_threads_fini(&host->threads);
    host_routes_fini(&host->registry.routes);
}

#endif
