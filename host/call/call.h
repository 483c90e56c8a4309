/* SPDX-License-Identifier: Apache-2.0 */
/* call: the fourth floor of a host: its calls to guests, and the calls of guests. */
#ifndef HOST_CALL_CALL_H
#define HOST_CALL_CALL_H

#include <rapahub/id.h>

#include "host/call/asyncs.h"
#include "host/call/chains.h"
#include "host/call/loans.h"
#include "host/call/routed.h"
#include "host/process/process.h"
#include "host/roles/regions.h"
#include "hub/base/thread_pool.h"

struct host_async;
struct host_guest;
struct host_life;
struct hub_request;

/* The functions that this floor calls in the floors above, or in its own files that depend on the
 * caller. The table is constant and complete from the creation of the host: no caller tests for
 * NULL. */
struct host_call_hooks {
    /* A call met a guest that accepts none now: see activation.h. */
    int (*look)(const struct host_guest *guest, bool *calls);
    int (*call)(struct host_call *host, struct rapahub_container_id target, uint64_t deadline_ns);
    /* Serves requests while the owner waits for an answer: see nested_upcall.h. */
    uint32_t (*serve)(struct host_call *host, struct host_life *life, uint32_t most);
    uint32_t (*serve_queued)(struct host_call *host, struct host_life *life, uint32_t most);
    /* An asynchronous call with streams begins: see streaming.h. */
    int (*stream)(struct host_call *host, struct host_async *async);
    /* A call goes to the router, which takes it over: see router.h. */
    void (*away)(struct host_call *host, struct host_async *async);
    /* A guest says that it is ready: see startup.h. */
    void (*ready)(struct host_call *host, struct host_life *life, struct hub_request *request);
};

struct host_call {
    struct host_process process;
    struct host_regions regions;
    struct host_loans loans;   /* any thread */
    struct host_asyncs asyncs; /* any thread */
    struct host_router router;
    struct hub_a32 held;            /* calls may be held back: see corks.h */
    struct hub_list relays;         /* requests of guests that were sent on; owner, as the rest */
    struct hub_a32 streaming;       /* asynchronous calls with streams; any thread */
    struct hub_thread_pool waiters; /* the threads that wait for these calls */
    uint64_t chains;                /* the number of the last chain that began */
    struct host_chain_names names;  /* chains that other hosts know */
    /* the chain of the request that a service answers now; 0: none */
    struct host_chain_claim chain;
    struct host_timer overdue; /* ends asynchronous calls that were not answered in time */
    const struct host_call_hooks *hooks; /* constant */
};

#define HOST_CALL(host) HOST_FLOOR(host_call, host)

#endif
