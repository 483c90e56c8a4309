/* SPDX-License-Identifier: Apache-2.0 */
/* call: the fourth floor of a host: calls, those of the host to its guests and those of guests. */
#ifndef HOST_CALL_CALL_H
#define HOST_CALL_CALL_H

#include <rapahub/id.h>

#include "host/call/asyncs.h"
#include "host/call/chains.h"
#include "host/call/loans.h"
#include "host/process/process.h"
#include "hub/base/thread_pool.h"

struct host_async;
struct host_guest;
struct host_life;
struct hub_request;

/* What a call needs of those who use this floor, or of a file of it that needs its caller. Constant
 * and complete from the moment a host is made: no caller tests for NULL. */
struct host_call_hooks {
    /* A call met a guest that takes none now: see demand.h. */
    int (*look)(const struct host_guest *guest, bool *calls);
    int (*call)(struct host_call *host, struct rapahub_container_id target, uint64_t deadline_ns);
    /* What the owner serves while it waits for an answer: see nested_upcall.h. */
    uint32_t (*serve)(struct host_call *host, struct host_life *life, uint32_t most);
    uint32_t (*serve_queued)(struct host_call *host, struct host_life *life, uint32_t most);
    /* An asynchronous call with streams begins: see streaming.h. */
    int (*stream)(struct host_call *host, struct host_async *async);
    /* A guest says that it is ready: see startup.h. */
    void (*ready)(struct host_call *host, struct host_life *life, struct hub_request *request);
};

struct host_call {
    struct host_process process;
    struct host_loans loans;   /* any thread */
    struct host_asyncs asyncs; /* any thread */
    struct hub_a32 held;       /* calls are, perhaps: see corks.h */
    struct hub_list relays;    /* requests of guests that were sent on; the rest is the owner's */
    struct hub_a32 streaming;  /* asynchronous calls with streams; any thread */
    struct hub_thread_pool waiters;      /* the threads that wait for these */
    uint64_t chains;                     /* the number of the last chain that began */
    struct host_chain_claim chain;       /* of the request an offer answers now; 0: none */
    struct host_timer overdue;           /* asynchronous calls without an answer in time */
    const struct host_call_hooks *hooks; /* constant */
};

#define HOST_CALL(host) HOST_FLOOR(host_call, host)

#endif
