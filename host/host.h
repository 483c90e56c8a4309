/* SPDX-License-Identifier: Apache-2.0 */
/* host: the whole of one host, and the few things every file of the room does with it. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <stdbool.h>

#include <rapahub/host.h>

#include "host/asyncs.h"
#include "host/chains.h"
#include "host/events.h"
#include "host/guest.h"
#include "host/hooks.h"
#include "host/loans.h"
#include "host/monitors.h"
#include "host/options.h"
#include "host/owner/futexes.h"
#include "host/owner/lookout.h"
#include "host/owner/loop.h"
#include "host/process/group.h"
#include "host/process/modules.h"
#include "host/process/spawn.h"
#include "host/process/zombies.h"
#include "host/registry/containers.h"
#include "host/registry/routes.h"
#include "host/scratch.h"
#include "host/supervise/machine.h"
#include "host/threads.h"
#include "hub/base/closer.h"
#include "hub/base/crew.h"

struct rapahub_host {
    struct host_scratches scratches; /* first: see forked.h */
    struct host_options options;
    struct host_threads threads;
    struct host_loans loans;
    struct host_asyncs asyncs;

    struct host_routes routes;
    struct hub_a32 held;               /* calls are, perhaps: see corks.h */
    struct host_containers containers; /* routes */
    uint32_t guests_max;
    struct host_guest **guests; /* routes */

    bool has_cgroup;
    int cgroup;                  /* in which it makes those of its guests */
    struct host_loop loop;       /* the rest is the owner's */
    struct host_lookout lookout; /* open from the first guest on */
    struct host_futexes futexes; /* its thread runs from the first guest on that needs it */
    struct host_spawner *spawner;
    struct host_modules modules;
    struct host_machine machine;  /* decides over all guests that the host starts */
    struct host_guest **children; /* by their place in its tree; NULL: a supervisor, or nobody */
    struct host_monitors monitors;
    struct hub_list observers;
    struct hub_list supervisors; /* that the embedder has made */
    struct host_timer supervise; /* when time alone makes it decide */
    uint32_t begins;             /* guests whose start is decided, and comes with the timer */
    bool deciding;               /* its decisions are being carried out */
    struct host_group *shared;   /* of all trusted guests; NULL: none yet */
    struct hub_list lives;       /* the present ones */
    struct hub_list ended;       /* lives that somebody still uses */
    struct host_events events;
    struct host_timer beat;    /* looks at heartbeats */
    struct host_timer silent;  /* looks at guests that wake nobody */
    bool rests;                /* nothing was open when it looked: it looks seldom */
    struct host_timer overdue; /* calls nobody waits for */
    struct host_timer linger;  /* pipes that outlive their guest */
    struct host_zombies zombies;
    struct hub_closer *closer;     /* of what guests have sent; the last to go */
    struct hub_list detached;      /* tasks that nobody waits for */
    struct hub_list relays;        /* requests of guests that were sent on */
    struct hub_a32 streaming;      /* calls with streams that nobody waits for */
    struct hub_crew waiters;       /* who wait for them instead */
    uint64_t groups, serials;      /* the last numbers given */
    uint64_t chains;               /* the number of the last chain that began */
    struct host_chain_claim chain; /* of the request an offer answers now; 0: none */
    const struct host_hooks *hooks;
    uint32_t depth;        /* turns inside of turns */
    uint32_t nested;       /* requests served inside of waits, without a turn */
    uint32_t glances;      /* turns since one looked at the descriptors */
    uint32_t polls;        /* turns without a wait, one after the other */
    bool unheard;          /* there are lives whose doorbells are not armed */
    struct hub_a32 shown;  /* 1: others may wait for the loop's descriptor */
    struct hub_a32 polled; /* 1: there were turns that armed no doorbell */
    uint32_t callbacks;    /* the embedder's code that runs now */
    bool closing;
};

#endif
