/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/receive_buffer.h"

#include <stdlib.h>
#include <string.h>

#define READ_FIRST (16u * 1024) /* bytes that are read at once, or as many as a frame has */

void cluster_receive_buffer_fini(struct cluster_receive_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct cluster_receive_buffer){.data = NULL};
}

bool cluster_receive_buffer_reserve(struct cluster_receive_buffer *buffer)
{
    size_t most = buffer->wanted > READ_FIRST ? buffer->wanted : READ_FIRST;
    uint8_t *data;

    if (buffer->start > 0) {
        memmove(buffer->data, buffer->data + buffer->start, buffer->size - buffer->start);
        buffer->size -= buffer->start;
        buffer->start = 0;
    }
    if (buffer->capacity >= most)
        return true;
    data = realloc(buffer->data, most);
    if (!data)
        return false;
    buffer->data = data;
    buffer->capacity = most;
    return true;
}

int cluster_receive_buffer_next(struct cluster_receive_buffer *buffer, struct cluster_frame *frame,
                                struct rapahub_bytes *bytes)
{
    size_t left = buffer->size - buffer->start;
    int r;

    buffer->wanted = 0;
    if (left < CLUSTER_FRAME_SIZE)
        return 0;
    r = cluster_frame_read(buffer->data + buffer->start, frame);
    if (r < 0)
        return r;
    buffer->wanted = CLUSTER_FRAME_SIZE + (size_t)frame->body_size;
    if (left < buffer->wanted)
        return 0;
    *bytes =
        (struct rapahub_bytes){buffer->data + buffer->start + CLUSTER_FRAME_SIZE, frame->body_size};
    return 1;
}

void cluster_receive_buffer_pass(struct cluster_receive_buffer *buffer)
{
    buffer->start += buffer->wanted;
    buffer->wanted = 0;
}

void cluster_receive_buffer_trim(struct cluster_receive_buffer *buffer)
{
    if (buffer->start == buffer->size && buffer->capacity > READ_FIRST)
        cluster_receive_buffer_fini(buffer);
}
