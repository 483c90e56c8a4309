/* SPDX-License-Identifier: Apache-2.0 */
/* owner: the second floor of a host: the thread that owns it, its loop and its events. Members
 * belong to the owner, unless they say that other threads may use them. */
#ifndef HOST_OWNER_OWNER_H
#define HOST_OWNER_OWNER_H

#include "host/owner/changes.h"
#include "host/owner/events.h"
#include "host/owner/futexes.h"
#include "host/owner/lookout.h"
#include "host/owner/loop.h"
#include "host/owner/threads.h"
#include "host/owner/wait.h"
#include "host/registry/registry.h"
#include "hub/base/atomic.h"

struct host_owner {
    struct host_registry registry;
    struct host_threads threads; /* any thread */
    struct host_loop loop;
    struct host_lookout lookout; /* open from the first guest on */
    struct host_futexes futexes; /* its thread runs from the first guest on that needs it */
    struct host_events events;
    struct host_changes changes;
    struct hub_list detached;       /* tasks that no thread waits for */
    bool ends;                      /* no such task begins any more */
    const struct host_turns *turns; /* the functions for waiting; constant */
    uint32_t depth;                 /* nested turns */
    uint32_t nested;                /* requests served during waits, without a turn */
    uint32_t callbacks;             /* callbacks of the embedder that are running */
    bool again;                     /* this turn finds more to do before it ends */
    struct hub_a32 shown; /* 1: other threads may wait for the loop's descriptor; any thread */
};

#define HOST_OWNER(host) HOST_FLOOR(host_owner, host)

#endif
