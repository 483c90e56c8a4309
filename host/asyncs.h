/* SPDX-License-Identifier: Apache-2.0 */
/* asyncs: calls nobody waits for: those of rapahub_host_call_async, and the requests of guests that
 * are sent on to another one. A call to a guest that is about to be ready, or has no space now, is
 * parked until it is, or has: to begin a call never waits. Calls to one container stay in order. */
#ifndef HOST_ASYNCS_H
#define HOST_ASYNCS_H

#include <rapahub/host.h>

#include "host/shelf.h"
#include "hub/base/id_map.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"
#include "hub/link/calls.h"
#include "hub/wire/stream_ids.h"

#define HOST_ASYNCS_MAX   16384
#define HOST_ASYNCS_PIECE 1024 /* bytes of what is kept for the next call */

struct host_life;
struct host_container;
struct host_async;

/* Runs once, on the owner: code 0 and the answer of `life`, or a failure with its diagnosis. Then
 * the call is freed. */
typedef void host_asyncs_done(struct host_async *async, int code, struct hub_answer *answer);

/* Filled by who makes it, in memory from malloc; freed here, with `owned` and `data`, unless who
 * made it has a `release`. */
struct host_async {
    struct rapahub_host *host;
    struct rapahub_container_id target;
    uint64_t method_id, chain;
    struct rapahub_bytes arguments;
    struct hub_stream_marks *marks; /* streams among the arguments, which outlive the call; freed
                                       with it; NULL: none */
    bool blind;                     /* whether there are streams was not known when it was made */
    void *owned; /* memory of the arguments; NULL: they are somebody else's and last long enough */
    void *data;  /* of who made it */
    char method[64];
    uint64_t deadline_ns;
    host_asyncs_done *done;
    void (*fini)(
        struct host_async *async); /* what `data` holds besides its memory; NULL: nothing */
    void (*release)(struct host_async *async); /* after `fini`, instead of free; NULL: none */
    struct hub_answer answer; /* its buffer may be used again, so that no answer is allocated */

    uint64_t number; /* the rest is asyncs.c's */
    struct host_life *life;
    struct host_container *container;
    uint64_t call; /* 0: not known yet */
    bool cancelled;
    bool full; /* parked until its guest has space */
    struct hub_list parked;
};

struct host_asyncs {
    struct hub_mutex lock;
    struct hub_id_map *all GUARDED_BY(lock);
    struct hub_list parked GUARDED_BY(lock);
    uint64_t numbers GUARDED_BY(lock);
    struct host_shelf spare; /* calls that have ended, as many as one guest's table holds; each
                                begins with a struct host_async whose `answer` is kept */
};

int host_asyncs_open(struct host_asyncs *asyncs);
void host_asyncs_close(struct host_asyncs *asyncs);

/* Of a call that was not begun. */
void host_asyncs_free(struct host_async *async);

/* Takes the call over: 0 and its number, or a failure: then `done` does not run, and it is freed.
 * Any thread. */
int host_asyncs_begin(struct rapahub_host *host, struct host_async *async, uint64_t *number);

/* For a call that is carried out elsewhere: whose it is now (NULL: nobody's), its number there, and
 * its end, which frees it. Was it cancelled: -ECANCELED with the diagnosis. */
void host_asyncs_bound(struct host_async *async, struct host_life *life);
void host_asyncs_begun(struct host_async *async, uint64_t call);
void host_asyncs_end(struct host_async *async, int code, struct hub_answer *answer);
int host_asyncs_cancelled(struct host_async *async);

/* Any thread; harmless for a number of a call that has ended. */
void host_asyncs_cancel(struct rapahub_host *host, uint64_t number);

/* Owner, at the end of the host: every call counts as cancelled, and sends nothing more. */
void host_asyncs_give_up(struct rapahub_host *host);

/* Owner: sends what is parked and may go now, ends what may not: how many. */
int host_asyncs_serve(struct rapahub_host *host);

/* When a parked call ends for lack of an answer; HUB_NEVER: none is parked. */
uint64_t host_asyncs_next_deadline(struct rapahub_host *host);

/* Owner: every parked call ends with `code`. */
void host_asyncs_end_parked(struct rapahub_host *host, int code, const char *why);

#endif
