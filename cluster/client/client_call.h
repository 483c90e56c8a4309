/* SPDX-License-Identifier: Apache-2.0 */
/* client_call: one call of a client, from the moment in which it was made until its caller is told
 * of its end.
 */
#ifndef CLUSTER_CLIENT_CLIENT_CALL_H
#define CLUSTER_CLIENT_CLIENT_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/supervise.h>

#include "cluster/client/client_streams.h"
#include "cluster/client/typed_call.h"
#include "cluster/wire/body.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

enum cluster_client_call_state {
    CLUSTER_CLIENT_CALL_WAITING, /* it is to be sent */
    CLUSTER_CLIENT_CALL_SENT,
    CLUSTER_CLIENT_CALL_SETTLING, /* it has an end, and its streams have not */
    CLUSTER_CLIENT_CALL_ENDED,
    CLUSTER_CLIENT_CALL_STATES
};

extern const struct hub_states cluster_client_call_states;

/* Which containers a call goes to, as its node said. */
struct cluster_client_members {
    uint32_t count;                   /* 0: not known */
    struct cluster_body_member *list; /* is `one`, or on the heap */
    struct cluster_body_member one;
    uint8_t *done; /* a bit for each replica whose end has come; NULL: none has */
};

struct cluster_client_call {
    struct hub_list age, open, waiting, cancelled; /* in the lists of client_calls.h */
    struct cluster_client_streams *streams;        /* NULL: it has none */
    struct hub_a32 holders;                        /* a thread that waits, and the table */
    uint64_t number;
    uint32_t state;    /* enum cluster_client_call_state */
    bool maybe;        /* it was sent by a way that is lost: it may have been admitted */
    bool is_taken;     /* it is in the lists of the client's thread */
    bool is_cancelled; /* and its number is in the list of the cancelled */
    bool is_there;     /* it was sent by shared memory, and the node may have it */
    bool is_led;       /* the thread that waits takes the turns, and need not be woken */
    struct cluster_typed_call typed;
    uint64_t pool;
    uint32_t container;
    struct rapahub_query query;
    uint64_t begun_ns, deadline_ns;
    uint64_t timeout_ns;    /* with streams it begins anew with each byte that moves */
    uint64_t not_before_ns; /* the node was busy */
    uint64_t before;        /* the call before it in its order; 0: none */
    struct cluster_client_members members;
    rapahub_on_done *on_done; /* NULL: a thread waits */
    void *user;
    struct hub_a32 ended; /* 1: the end is set, and the thread goes on */
    struct cluster_client_end end;
    void *end_memory; /* of its text or of its payload */
};

/* Makes a call with encoded arguments, which it owns from here on. `held`: by the caller, too. NULL
 * with the diagnosis. */
struct cluster_client_call *cluster_client_call_make(const struct rapahub_call *call,
                                                     struct cluster_typed_call *typed, bool held);
void cluster_client_call_drop(struct cluster_client_call *call);

/* Fills what is sent. */
void cluster_client_call_write(const struct cluster_client_call *call, uint64_t now_ns,
                               struct cluster_frame *frame, struct cluster_body *body);

/* Returns when the call ends, if nothing moves of its streams. */
uint64_t cluster_client_call_until(const struct cluster_client_call *call);

/* Says whether the call goes to one container. */
bool cluster_client_call_is_single(const struct cluster_client_call *call);

/* Notes where the call goes: once, if it may have been admitted. RAPAHUB_EPROTOCOL: nowhere;
 * -ENOMEM. */
int cluster_client_call_resolve(struct cluster_client_call *call,
                                const struct cluster_body_resolved *resolved);

/* The call goes to this container, as its node said or may have said. */
void cluster_client_call_aim(struct cluster_client_call *call,
                             const struct cluster_body_member *member);

/* It is not known any more where the call goes. It was not admitted. */
void cluster_client_call_unaim(struct cluster_client_call *call);

/* Tells of the end of a container, unless it was told before. */
int cluster_client_call_each(struct cluster_client_call *call, const struct cluster_frame *frame,
                             const struct cluster_client_end *end);

/* Tells the caller of the end of the call. The table's hold is over. */
void cluster_client_call_end(struct cluster_client_call *call,
                             const struct cluster_client_end *end);

/* Sets the diagnosis to a failure, and returns its code. */
int cluster_client_call_fail(const struct cluster_client_end *end);

#endif
