/* SPDX-License-Identifier: Apache-2.0 */
/* asyncs: the asynchronous calls of rapahub_host_call_async, and the requests of guests that are
 * sent on to another guest. To begin a call never waits: a call to a guest that is not ready yet,
 * or has no space now, is parked until it can be sent. Calls of the host to one container stay in
 * order, and so do requests of guests; neither waits for the other. */
#ifndef HOST_CALL_ASYNCS_H
#define HOST_CALL_ASYNCS_H

#include <rapahub/host.h>
#include <rapahub/route.h>

#include "host/call/async_table.h"
#include "host/call/parked_calls.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"
#include "hub/wire/stream_ids.h"

#define HOST_ASYNCS_PIECE 1024 /* size in bytes of a piece, which is kept for the next call */

/* How many requests of other guests may be open in one guest. The rest of its calls is reserved for
 * the host's own. */
#define HOST_ASYNCS_FOREIGN_MAX (HUB_CALLS_MAX - HUB_CALLS_MAX / 4)

struct host_async;
struct host_call;
struct host_chain_seat;
struct host_container;
struct host_life;
struct host_routed;

/* The end of a call, on the owner: code 0 and the answer of `life`, or a failure with its
 * diagnosis. It runs once; then the call is freed. */
typedef void host_asyncs_done(struct host_async *async, int code, struct hub_answer *answer);

/* An asynchronous call. Its maker fills it in, in zeroed memory from malloc or in a piece. After
 * host_asyncs_begin it is freed at its end, with `owned` and `data`. */
struct host_async {
    struct host_call *host;
    struct rapahub_container_id target;
    uint64_t method_id;
    struct host_chain_seat *seat; /* in its chain; NULL: in none. For calls of the owner */
    struct rapahub_bytes arguments;
    /* how many bytes at the end of the arguments begin at a cache line; 0: none need to */
    size_t aligned;
    /* streams among the arguments, which outlive the call; freed with it; NULL: none */
    struct hub_stream_marks *marks;
    struct host_routed *routed; /* for a call to the router: see routed.h; freed with it */
    bool raw; /* rapahub_host_call_raw: it reaches a container whose calls go to the router, too */
    bool moved;             /* raw: something of its streams was, so no other call may have them */
    uint64_t outer;         /* raw: the chain in which it comes, as other hosts know it; 0: none */
    struct rapahub_uid uid; /* raw */
    struct rapahub_guest_id from;     /* the guest that calls, for the router; zeroed: none */
    struct rapahub_pool_id from_pool; /* of its first container */
    /* a guest asked for it, here or in another host: only methods that the target declares are
     * called, and it has no part in the share of the host */
    bool foreign;
    /* memory of the arguments, freed with the call; NULL: they belong to another and last long
     * enough */
    void *owned;
    void *data; /* belongs to the maker */
    char method[64];
    uint64_t deadline_ns;
    host_asyncs_done *done;
    /* Frees what `data` refers to, but not `data` itself. NULL: nothing to free. */
    void (*fini)(struct host_async *async);
    struct hub_answer answer; /* its buffer is reused, so that no answer is allocated */

    uint64_t number; /* 0: not entered. Only host/call uses this field and those below */
    bool piece;
    struct host_async *next; /* in the list of spare pieces */
    struct host_life *life;
    struct host_container *container;
    uint64_t call; /* 0: not known yet */
    bool cancelled;
    bool full; /* parked until its guest has space */
    bool held; /* it was held while its guest was replaced, and is counted */
    bool mine; /* counted as a user of the container in the owner's own count */
    struct hub_list parked, parked_full; /* see parked_calls.h */
};

struct host_asyncs {
    struct hub_mutex lock;
    struct host_async_table table GUARDED_BY(lock);
    struct host_parked_calls parked GUARDED_BY(lock);
    uint32_t routed GUARDED_BY(lock); /* calls of the host itself that have such a record */
    bool closed GUARDED_BY(lock);     /* the host ends: no call is parked any more */
    /* the owner's: pieces acquired in advance, and those of calls that have ended in its turn
     * and stay in the table until the turn is over. Several enter and leave under one lock */
    struct host_async *ready;
    struct host_async *over;
    uint32_t over_count;
    /* calls that are parked, or were and are being looked at: no other call may overtake them.
     * Changes under the lock */
    struct hub_a32 waiting;
};

int host_asyncs_open(struct host_asyncs *asyncs);
void host_asyncs_close(struct host_asyncs *asyncs);

/* Returns whether a call that begins now must queue after a parked one. Any thread. */
static inline bool host_asyncs_queue(const struct host_asyncs *asyncs)
{
    return hub_load_relaxed(&asyncs->waiting) != 0;
}

/* Ends a call of the table of `async->life` whose user is `async`. Its answer is in the call's own
 * buffer. Owner. */
void host_asyncs_answered(void *async, int code, struct hub_answer *answer);

/* Begins the call and assumes ownership of it. Returns 0 and its number, or a failure: then `done`
 * does not run, and the call is freed. Any thread. */
int host_asyncs_begin(struct host_call *host, struct host_async *async, uint64_t *number);

/* For a call that another file carries out. host_asyncs_bound sets its life (NULL: none),
 * host_asyncs_begun its number there. host_asyncs_end ends and frees it. host_asyncs_cancelled
 * returns -ECANCELED with the diagnosis if it was cancelled, else 0. Any thread, except
 * host_asyncs_end: owner. */
void host_asyncs_bound(struct host_async *async, struct host_life *life);
void host_asyncs_begun(struct host_async *async, uint64_t call);
void host_asyncs_end(struct host_async *async, int code, struct hub_answer *answer);
void host_asyncs_uncount(struct host_async *async); /* it no longer uses its container */
int host_asyncs_cancelled(struct host_async *async);

/* Cancels the call; harmless if the call of this number has ended. Any thread. */
void host_asyncs_cancel(struct host_call *host, uint64_t number);

/* Marks every call as cancelled, so that it sends nothing more. Owner, at the end of the host. */
void host_asyncs_give_up(struct host_call *host);

/* Sends the parked calls that may go now, and ends those that may not. Returns how many. Owner. */
int host_asyncs_serve(struct host_call *host);

/* Returns when a parked call times out, or is to be tried again; HUB_NEVER: none is parked. Any
 * thread. */
uint64_t host_asyncs_next_deadline(struct host_call *host);

/* Ends every parked call with `code`. A call that would be parked later is refused with
 * RAPAHUB_ESTALE. Owner, at the end of the host. */
void host_asyncs_end_parked(struct host_call *host, int code, const char *why);

#endif
