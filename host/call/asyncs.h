/* SPDX-License-Identifier: Apache-2.0 */
/* asyncs: calls nobody waits for: those of rapahub_host_call_async, and the requests of guests that
 * are sent on to another one. A call to a guest that is about to be ready, or has no space now, is
 * parked until it is, or has: to begin a call never waits. Calls of the host to one container stay
 * in order, and so do requests of guests; neither waits behind the other. */
#ifndef HOST_CALL_ASYNCS_H
#define HOST_CALL_ASYNCS_H

#include <rapahub/host.h>

#include "host/call/async_table.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/call/calls.h"
#include "hub/wire/stream_ids.h"

#define HOST_ASYNCS_PIECE 1024 /* bytes of a piece, which is kept for the next call */

/* Requests of guests that are open in one guest: the rest of its calls is the host's own. */
#define HOST_ASYNCS_FOREIGN_MAX (HUB_CALLS_MAX - HUB_CALLS_MAX / 4)

struct host_async;
struct host_call;
struct host_chain_seat;
struct host_container;
struct host_life;

/* Runs once, on the owner: code 0 and the answer of `life`, or a failure with its diagnosis. Then
 * the call is freed. */
typedef void host_asyncs_done(struct host_async *async, int code, struct hub_answer *answer);

/* Filled by who makes it, in zeroed memory from malloc, or in a piece; freed here, with `owned` and
 * `data`. */
struct host_async {
    struct host_call *host;
    struct rapahub_container_id target;
    uint64_t method_id;
    struct host_chain_seat *seat; /* in its chain; NULL: it is in none. Of the owner's calls */
    struct rapahub_bytes arguments;
    size_t aligned;                 /* bytes at their end that begin at a line; 0: none need to */
    struct hub_stream_marks *marks; /* streams among the arguments, which outlive the call; freed
                                       with it; NULL: none */
    bool foreign;                   /* a guest asked for it, as long as it lives: what its target
                                       has not declared is not sent there */
    void *owned; /* memory of the arguments; NULL: they are somebody else's and last long enough */
    void *data;  /* of who made it */
    char method[64];
    uint64_t deadline_ns;
    host_asyncs_done *done;
    void (*fini)(
        struct host_async *async); /* what `data` holds besides its memory; NULL: nothing */
    struct hub_answer answer; /* its buffer may be used again, so that no answer is allocated */

    uint64_t number; /* 0: not entered; the rest is asyncs.c's */
    bool piece;
    struct host_async *next; /* of the spare pieces */
    struct host_life *life;
    struct host_container *container;
    uint64_t call; /* 0: not known yet */
    bool cancelled;
    bool full; /* parked until its guest has space */
    bool held; /* it was, while its guest was replaced, and is counted */
    bool mine; /* the owner counts it as a user of the container by itself */
    struct hub_list parked;
};

struct host_asyncs {
    struct hub_mutex lock;
    struct host_async_table table GUARDED_BY(lock);
    struct hub_list parked GUARDED_BY(lock);
    bool closed GUARDED_BY(lock); /* nothing is parked any more: the host ends */
    struct host_async *ready;     /* pieces the owner has taken before it needs them, and those that
                                     have ended in its turn and are in the table until it is over:
                                     several go in and out under one lock; the owner's */
    struct host_async *over;
    uint32_t over_count;
    struct hub_a32 waiting; /* how many are parked, or were and are being looked at: no other call
                               may overtake them. Changes under the lock */
};

int host_asyncs_open(struct host_asyncs *asyncs);
void host_asyncs_close(struct host_asyncs *asyncs);

/* Must a call that comes now wait behind another? Any thread. */
static inline bool host_asyncs_queue(const struct host_asyncs *asyncs)
{
    return hub_load_relaxed(&asyncs->waiting) != 0;
}

/* A call of the table of `async->life`, with `async` as its user, ended so. Its answer is in the
 * call's own buffer. */
void host_asyncs_answered(void *async, int code, struct hub_answer *answer);

/* Takes the call over: 0 and its number, or a failure: then `done` does not run, and it is freed.
 * Any thread. */
int host_asyncs_begin(struct host_call *host, struct host_async *async, uint64_t *number);

/* For a call that is carried out elsewhere: whose it is now (NULL: nobody's), its number there, and
 * its end, which frees it. Was it cancelled: -ECANCELED with the diagnosis. */
void host_asyncs_bound(struct host_async *async, struct host_life *life);
void host_asyncs_begun(struct host_async *async, uint64_t call);
void host_asyncs_end(struct host_async *async, int code, struct hub_answer *answer);
void host_asyncs_uncount(struct host_async *async); /* it uses its container no more */
int host_asyncs_cancelled(struct host_async *async);

/* Any thread; harmless for a number of a call that has ended. */
void host_asyncs_cancel(struct host_call *host, uint64_t number);

/* Owner, at the end of the host: every call counts as cancelled, and sends nothing more. */
void host_asyncs_give_up(struct host_call *host);

/* Owner: sends what is parked and may go now, ends what may not: how many. */
int host_asyncs_serve(struct host_call *host);

/* When a parked call ends for lack of an answer; HUB_NEVER: none is parked. */
uint64_t host_asyncs_next_deadline(struct host_call *host);

/* Owner, at the end of the host: every parked call ends with `code`, and none is parked any more:
 * RAPAHUB_ESTALE. */
void host_asyncs_end_parked(struct host_call *host, int code, const char *why);

#endif
