/* SPDX-License-Identifier: Apache-2.0 */
/* call_ends: how a call ends, and each of its members: the caller is told, on this node by an
 * effect, on another one by a frame. All that waits for it, or knows of it, lets go.
 */
#ifndef CLUSTER_CORE_CALLS_CALL_ENDS_H
#define CLUSTER_CORE_CALLS_CALL_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/calls/open_calls.h"
#include "cluster/core/calls/send_parts.h"
#include "hub/base/states.h"

/* States of a member. */
enum cluster_send_state {
    CLUSTER_SEND_LOOKING, /* within a step */
    CLUSTER_SEND_PARKED,  /* its container is here, but does not serve */
    CLUSTER_SEND_WAITING, /* it is tried again later */
    CLUSTER_SEND_ORDERED, /* calls before it in its order come first */
    CLUSTER_SEND_RUNNING,
    CLUSTER_SEND_SENT, /* it is under way to the node of its container, or there */
    CLUSTER_SEND_STATES
};

extern const struct hub_states cluster_send_states;

/* Kinds of timers: one for a call, the others for a member. */
enum cluster_send_timer {
    CLUSTER_SEND_DEADLINE,
    CLUSTER_SEND_ORDER_OVER, /* the call before it in its order has not come */
    CLUSTER_SEND_MAP_OVER    /* the map has not become as new as that of its sender */
};

/* The open calls of a node, and all that they share. */
struct cluster_send {
    struct cluster_send_parts parts;
    struct cluster_limits limits;
    struct cluster_open_calls open;
    struct cluster_timers *timers;
    uint32_t attempts; /* to other nodes; counts up, and round */
};

/* Return the row of a place; and the place of a member with an id, or 0. */
struct cluster_open_call *cluster_call_ends_call(const struct cluster_send *send, uint32_t place);
struct cluster_open_member *cluster_call_ends_member(const struct cluster_send *send,
                                                     uint32_t place);

/* Changes the state of a member. Aborts on a change that is not in the table. */
void cluster_call_ends_move(struct cluster_open_member *member, enum cluster_send_state to);

/* A member is SENT, to the node and with the attempt that it names; and is LOOKING after it. */
void cluster_call_ends_sent(struct cluster_send *send, uint32_t place);
void cluster_call_ends_back(struct cluster_send *send, uint32_t place);

/* The caller is told that the call has ended, once, and the call is gone after it. */
void cluster_call_ends_call_ended(struct cluster_send *send, uint32_t place, uint32_t container,
                                  const struct cluster_dedup_answer *answer, uint64_t now_ns);

/* A member has ended, and with it the call where it is the last, or has failed. */
void cluster_call_ends_member_ended(struct cluster_send *send, uint32_t place,
                                    const struct cluster_dedup_answer *answer, uint64_t now_ns);

/* The same with a failure, whose text is the diagnosis of the thread. A call of another node that
 * can be sent again is refused. */
void cluster_call_ends_fail(struct cluster_send *send, uint32_t place, int status, uint64_t now_ns);

/* A call of another node was not admitted: its sender is told why, and the call is gone. */
struct cluster_call_ends_refusal {
    uint8_t reason; /* enum cluster_body_nack_reason */
    uint32_t owner; /* the node that has its container, if that is known; 0 */
    uint64_t epoch, lineage;
};
void cluster_call_ends_refuse(struct cluster_send *send, uint32_t place,
                              const struct cluster_call_ends_refusal *refusal, uint64_t now_ns);

/* A call is gone, without a word to its caller. */
void cluster_call_ends_forget(struct cluster_send *send, uint32_t place, uint64_t now_ns);

#endif
