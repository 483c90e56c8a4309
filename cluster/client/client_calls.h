/* SPDX-License-Identifier: Apache-2.0 */
/* client_calls: the open calls of a client, by their numbers. Any thread adds a call, or asks for
 * its end; all else is done by the client's thread, which takes what was added into its lists. A
 * call by shared memory is its own thread's, from its begin to its end, or until that hands it over
 * to the client's thread.
 */
#ifndef CLUSTER_CLIENT_CLIENT_CALLS_H
#define CLUSTER_CLIENT_CLIENT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/client/client_call.h"
#include "cluster/client/member_cache.h"
#include "cluster/client/shm_transport.h"
#include "cluster/wire/shared_call.h"
#include "hub/base/id_map.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"

#define CLUSTER_CLIENT_CALLS_MAX   65536
#define CLUSTER_CLIENT_CALLS_BYTES (UINT64_C(64) << 20) /* arguments of open calls */
#define CLUSTER_CLIENT_CALLS_SENT  2048                 /* that the node has at once */
#define CLUSTER_CLIENT_CALLS_ACKS  HUB_CALLS_MAX /* calls by shared memory to be acknowledged */

struct cluster_client_calls {
    struct hub_mutex lock;
    /* under the lock */
    bool closed;
    uint64_t numbers; /* the last one */
    uint64_t bytes;   /* their arguments */
    uint32_t count;
    struct hub_id_map *by_number;
    struct hub_list by_age, inbox, cancels; /* by_age: all, by rising numbers */
    struct cluster_shm_transport *shm;      /* NULL: calls go by the socket */
    struct cluster_member_cache members;
    uint32_t acks_count; /* of calls that ended by shared memory */
    uint64_t acks[CLUSTER_CLIENT_CALLS_ACKS];
    /* the leader alone */
    struct hub_list open, waiting; /* both by rising numbers */
    struct hub_list settling;      /* those whose streams have not ended, by `waiting` */
    struct cluster_client_stream_means streams;
    uint32_t sent;
    uint32_t told;   /* calls that are open and have callbacks */
    bool waited;     /* a call has ended for which a thread waited */
    uint64_t due_ns; /* no call ends by its time before */
};

int cluster_client_calls_init(struct cluster_client_calls *calls);
void cluster_client_calls_fini(struct cluster_client_calls *calls); /* none is open */

/* Adds a call, which gets its number, also in `out` if that is not NULL, before its end can be
 * told. Returns whether the client's thread must be woken: 1, 0. -EBUSY: too many are open;
 * RAPAHUB_ESTALE: the client is being closed. Any thread. */
int cluster_client_calls_add(struct cluster_client_calls *calls, struct cluster_client_call *call,
                             struct rapahub_request_id *out);

/* Asks for the end of a call. Returns whether to wake the thread. Any thread. */
bool cluster_client_calls_cancel(struct cluster_client_calls *calls, uint64_t number);

/* ---- calls by shared memory; any thread ---- */

/* Begins a call: it gets its number, and is described in *out but for its time. Returns the
 * transport, which the caller holds from here on; NULL: there is none, or no more calls may be
 * open. */
struct cluster_shm_transport *cluster_client_calls_begin(struct cluster_client_calls *calls,
                                                         struct cluster_client_call *call,
                                                         struct cluster_shared_call *out);

/* The node has said where the call goes. */
void cluster_client_calls_aim(struct cluster_client_calls *calls, struct cluster_client_call *call,
                              const struct cluster_body_member *member);

/* The call has ended by an answer, which is to be acknowledged. Only its caller has it then. */
void cluster_client_calls_finish(struct cluster_client_calls *calls,
                                 struct cluster_client_call *call);

/* From here on the call is the client's thread's, which is to be woken. */
void cluster_client_calls_hand_over(struct cluster_client_calls *calls,
                                    struct cluster_client_call *call);

/* Sets the transport. Returns the one before. The client's thread. */
struct cluster_shm_transport *cluster_client_calls_use(struct cluster_client_calls *calls,
                                                       struct cluster_shm_transport *shm);

/* Says whether there is a transport that has come to its end. The client's thread. */
bool cluster_client_calls_is_cut_off(const struct cluster_client_calls *calls);

/* No call is added from now on. Any thread. */
void cluster_client_calls_close(struct cluster_client_calls *calls);
bool cluster_client_calls_is_closed(struct cluster_client_calls *calls);

/* Says whether there is something to take. Any thread. */
bool cluster_client_calls_are_added(struct cluster_client_calls *calls);

/* ---- the leader ---- */

/* Takes what was added. */
void cluster_client_calls_take(struct cluster_client_calls *calls);

/* Returns the next call whose end is asked for, or NULL. */
struct cluster_client_call *cluster_client_calls_cancelled(struct cluster_client_calls *calls);

/* Finds an open call. NULL: there is none with this number. */
struct cluster_client_call *cluster_client_calls_find(struct cluster_client_calls *calls,
                                                      uint64_t number);

/* Returns the number below which all calls have ended. */
uint64_t cluster_client_calls_done_below(struct cluster_client_calls *calls);

/* Before a call is sent: if a call went to the same one lately, this one names where. */
void cluster_client_calls_guess(struct cluster_client_calls *calls,
                                struct cluster_client_call *call);

/* The node has said where a call goes: as cluster_client_call_resolve. */
int cluster_client_calls_resolve(struct cluster_client_calls *calls,
                                 struct cluster_client_call *call,
                                 const struct cluster_body_resolved *resolved);

void cluster_client_calls_note_sent(struct cluster_client_calls *calls,
                                    struct cluster_client_call *call);

/* A call that was sent is to be sent again, not before this time. */
void cluster_client_calls_delay(struct cluster_client_calls *calls,
                                struct cluster_client_call *call, uint64_t not_before_ns);

/* The connection is lost: all calls wait, those that were sent as calls that may have run. */
void cluster_client_calls_lost(struct cluster_client_calls *calls);

/* Ends a call and tells its caller; if it has streams, when these are the caller's again. */
void cluster_client_calls_end(struct cluster_client_calls *calls, struct cluster_client_call *call,
                              const struct cluster_client_end *end);

/* Tells the callers of those whose streams have ended; `wait`: of all, after a wait for these. */
void cluster_client_calls_settle(struct cluster_client_calls *calls, bool wait);

#endif
