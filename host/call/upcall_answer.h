/* SPDX-License-Identifier: Apache-2.0 */
/* upcall_answer: how the host answers a request of a guest. Each ends the request. Owner.
 */
#ifndef HOST_CALL_UPCALL_ANSWER_H
#define HOST_CALL_UPCALL_ANSWER_H

#include <rapahub/value.h>

#include "hub/call/inbound_calls.h"
#include "hub/wire/response.h"

struct host_life;
struct hub_answer;

void host_upcall_answer_send(struct host_life *life, struct hub_request *request,
                             const struct hub_response *response, struct rapahub_bytes body);

/* Refuses a request because the guest receives too few of its answers. `fault` tells whether this
 * request was executed. r[impl sec.call.budget] */
void host_upcall_answer_over_budget(struct host_life *life, struct hub_request *request,
                                    enum hub_fault fault);

/* Answers a guest with the calling thread's diagnosis. A code of the host travels as an error with
 * the same code. */
void host_upcall_answer_refuse(struct host_life *life, struct hub_request *request, int code);

/* Refuses a request that names no method of its target. The guest is not told of the target's other
 * methods. r[impl call.error.unknown-method] */
void host_upcall_answer_unknown(struct host_life *life, struct hub_request *request);

/* Closes the link of a guest that sends a message reserved for the host. This cannot be a mistake,
 * since no signature has its id. r[impl sec.call.own] r[impl hub.violation] */
void host_upcall_answer_blame(struct host_life *life, struct hub_request *request);

/* Passes on an answer that came from elsewhere. Head and body are separate; the body is
 * unchanged. */
void host_upcall_answer_hand_on(struct host_life *life, struct hub_request *request,
                                const struct hub_answer *from);

#endif
