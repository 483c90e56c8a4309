/* SPDX-License-Identifier: Apache-2.0 */
/* send_queue: frames that wait to be written to a socket, in their order. Frames without
 * credit are counted, so that a side which does not read cannot make them many. Descriptors go with
 * the first byte of a frame; only one frame that waits may have any.
 */
#ifndef CLUSTER_LINK_SEND_QUEUE_H
#define CLUSTER_LINK_SEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/link/transport.h"
#include "cluster/wire/frame.h"

#define CLUSTER_SEND_QUEUE_FDS CLUSTER_TRANSPORT_FDS

struct cluster_send_queue {
    uint8_t *data;
    size_t frame; /* offset of the first frame that was not written wholly */
    size_t next;  /* offset of the first byte that was not written */
    size_t size, capacity;
    size_t control; /* bytes of frames that have no credit */
    bool has_fds;
    size_t fds_at; /* offset of the frame that they go with */
    int fds[CLUSTER_SEND_QUEUE_FDS];
};

void cluster_send_queue_fini(struct cluster_send_queue *queue);

/* Says whether frames of this type are calls, which need credit. */
bool cluster_send_queue_is_call(uint8_t type);

/* Adds a frame, whose `body_size` says how long its body is, and returns where that must be written
 * before anything else is done with the queue. NULL with the diagnosis: no memory. */
uint8_t *cluster_send_queue_add(struct cluster_send_queue *queue,
                                const struct cluster_frame *frame);

/* The next frame that is added goes with these descriptors, which are the queue's from here on. No
 * others wait in it. */
void cluster_send_queue_attach(struct cluster_send_queue *queue,
                               const int fds[CLUSTER_SEND_QUEUE_FDS]);

/* No frame was added: they are closed. */
void cluster_send_queue_detach(struct cluster_send_queue *queue);

bool cluster_send_queue_is_empty(const struct cluster_send_queue *queue);

/* Writes what the transport takes. Returns 1 if that was anything, else 0, or its failure. */
int cluster_send_queue_flush(struct cluster_send_queue *queue,
                             const struct cluster_transport *transport);

#endif
