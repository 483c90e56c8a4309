/* SPDX-License-Identifier: Apache-2.0 */
/* shm_transport: a segment that a client shares with its node. A thread sends a request there and
 * waits for the answer by itself, together with others. Each user holds the transport, and its
 * memory stays until the last one has let go: so it can be ended while threads are inside.
 */
#ifndef CLUSTER_CLIENT_SHM_TRANSPORT_H
#define CLUSTER_CLIENT_SHM_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/call/calls.h"

/* Bytes before a request, for what makes it a call of its node. */
#define CLUSTER_SHM_TRANSPORT_HEAD 64

struct cluster_shm_transport;

/* Attaches to a segment, by two descriptors, which are the transport's from here on, and shows that
 * this process lives. The caller holds it, and ends it. RAPAHUB_EFORMAT, -ENOMEM and the other
 * errors of hub_attach_open. */
int cluster_shm_transport_open(const int descriptors[2], uint32_t peer, uint8_t waiting,
                               struct cluster_shm_transport **out);

/* Ends all calls, and every later one. The thread that opened it; once. */
void cluster_shm_transport_end(struct cluster_shm_transport *transport);

/* Says whether nothing can be sent any more, because the node has left. Any thread. */
bool cluster_shm_transport_is_over(const struct cluster_shm_transport *transport);

/* Any thread; a holder, or under a lock that keeps one from letting go. */
void cluster_shm_transport_hold(struct cluster_shm_transport *transport);
void cluster_shm_transport_drop(struct cluster_shm_transport *transport);

/* Returns how many bytes a request may have. */
size_t cluster_shm_transport_request_max(const struct cluster_shm_transport *transport);

/* A request and its answer. */
struct cluster_shm_request {
    uint8_t *memory; /* the request lies CLUSTER_SHM_TRANSPORT_HEAD bytes after it */
    size_t size;
    uint64_t deadline_ns;
    struct hub_answer *answer; /* has the bytes of: */
    struct rapahub_bytes out;  /* the answer */
    bool sent;                 /* the node may have it, although the answer did not come */
};

/* Sends a request, and waits until it is answered: 0. A failure: -ETIMEDOUT, the deadline is over;
 * and others. Any thread that holds the transport. */
int cluster_shm_transport_ask(struct cluster_shm_transport *transport,
                              struct cluster_shm_request *request);

#endif
