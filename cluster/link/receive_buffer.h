/* SPDX-License-Identifier: Apache-2.0 */
/* receive_buffer: bytes that came from a socket, and the frames in them that were not taken yet. It
 * grows to the size of a frame, and is small again when it is empty.
 */
#ifndef CLUSTER_LINK_RECEIVE_BUFFER_H
#define CLUSTER_LINK_RECEIVE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "cluster/wire/frame.h"

struct cluster_receive_buffer {
    uint8_t *data;
    size_t start, size, capacity;
    size_t wanted; /* bytes of the next frame; 0: not known */
};

void cluster_receive_buffer_fini(struct cluster_receive_buffer *buffer);

/* Makes space for more bytes, at least for the rest of the frame that has begun. False: there is no
 * memory. */
bool cluster_receive_buffer_reserve(struct cluster_receive_buffer *buffer);

/* Returns 1 and the next frame with its body, which is good until the buffer is used again; 0: it
 * is not there wholly; or the failure of cluster_frame_read. */
int cluster_receive_buffer_next(struct cluster_receive_buffer *buffer, struct cluster_frame *frame,
                                struct rapahub_bytes *bytes);

/* The frame that was returned has been taken. */
void cluster_receive_buffer_pass(struct cluster_receive_buffer *buffer);

/* Gives memory back that only a large frame needed, if no byte is left. */
void cluster_receive_buffer_trim(struct cluster_receive_buffer *buffer);

#endif
