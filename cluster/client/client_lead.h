/* SPDX-License-Identifier: Apache-2.0 */
/* client_lead: the leader of a client takes its turns. It is the client's own thread, or a thread
 * that waits for a call, which so needs no other thread to send it and to get its end. After the
 * last such call the client's own thread rests for a moment before it looks at the connection
 * again, for the next call mostly comes soon.
 */
#ifndef CLUSTER_CLIENT_CLIENT_LEAD_H
#define CLUSTER_CLIENT_CLIENT_LEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"

struct cluster_client_lead {
    struct hub_a32 leader; /* 0: the client's thread, at first */
    struct hub_a32 led;    /* counts the times that another thread led */
    struct hub_a32 called; /* 1: the client's thread is to lead */
    uint64_t since_ns;     /* the other thread leads since then; its own */
};

/* Another thread leads from here on, until it leaves. False: there is a leader. */
bool cluster_client_lead_claim(struct cluster_client_lead *lead);

/* It leads no more. Returns whether it did so for long: then the client's thread is to be called.
 */
bool cluster_client_lead_leave(struct cluster_client_lead *lead);

/* Has the client's thread lead if there is no leader. Any thread. */
void cluster_client_lead_call(struct cluster_client_lead *lead);

/* The client's thread: others may lead from here on. Returns when it leads again: it was called,
 * or there was no leader for a while. */
void cluster_client_lead_rest(struct cluster_client_lead *lead);

#endif
