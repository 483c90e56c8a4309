/* SPDX-License-Identifier: Apache-2.0 */
/* send: the calls that this node sees to, from the moment in which they were made, or have come
 * from another node, until their caller is told. A call has members: the containers that its query
 * means. Each member is looked for, waits, runs here or elsewhere, and ends; with the last one, or
 * the first that fails, the call ends, and at its deadline at the latest.
 */
#ifndef CLUSTER_CORE_CALLS_SEND_H
#define CLUSTER_CORE_CALLS_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/base/limits.h"
#include "cluster/core/calls/open_calls.h"
#include "cluster/core/calls/send_parts.h"

struct cluster_send;

/* Makes space for calls within these limits. -ENOMEM. */
int cluster_send_create(const struct cluster_limits *limits, const struct cluster_send_parts *parts,
                        uint64_t secret, struct cluster_send **out);
void cluster_send_release(struct cluster_send **send);

/* Begins a call. A negative return refuses it: no effect tells of it, and its body stays the
 * caller's. */
int cluster_send_begin(struct cluster_send *send, const struct cluster_send_call *call,
                       uint64_t now_ns);

/* Begins a call of another node, which `from` names, to the container that its query has as offset;
 * `pinned` says that it is not handed on. Its answer, or why it was not admitted, is sent there. A
 * negative return refuses it, as above. */
int cluster_send_take(struct cluster_send *send, const struct cluster_send_call *call, bool pinned,
                      uint64_t now_ns);

/* Ends a call that its caller does not want any more: -ECANCELED. A member that runs goes on,
 * unheard. False: there is no such call. */
bool cluster_send_cancel(struct cluster_send *send, uint64_t number, uint64_t now_ns);

/* A run has ended, see cluster_receive_end. */
void cluster_send_ended(struct cluster_send *send, uint64_t asker,
                        const struct cluster_dedup_answer *answer, uint64_t now_ns);

/* A container is down: calls that ran in it are sent again, as calls that may have run. */
void cluster_send_down(struct cluster_send *send, uint64_t pool, uint32_t container,
                       uint64_t now_ns);

/* Something has changed for a container: calls for it are looked for again. */
void cluster_send_changed(struct cluster_send *send, uint64_t pool, uint32_t container,
                          uint64_t now_ns);

/* Does what is due. */
void cluster_send_tick(struct cluster_send *send, uint64_t now_ns);

/* Returns when something is due, or CLUSTER_TIMERS_NEVER. */
uint64_t cluster_send_next(const struct cluster_send *send);

struct cluster_send_figures {
    uint32_t calls, members;
};
struct cluster_send_figures cluster_send_figures(const struct cluster_send *send);

#endif
