/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/send_queue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/check.h"

#define CAPACITY_FIRST 4096u
#define CAPACITY_IDLE  (64u * 1024) /* a larger buffer is not kept when it is empty */

static void close_fds(struct cluster_send_queue *queue)
{
    for (unsigned i = 0; queue->has_fds && i < CLUSTER_SEND_QUEUE_FDS; i++)
        close(queue->fds[i]);
    queue->has_fds = false;
}

void cluster_send_queue_fini(struct cluster_send_queue *queue)
{
    close_fds(queue);
    free(queue->data);
    *queue = (struct cluster_send_queue){.data = NULL};
}

bool cluster_send_queue_is_call(uint8_t type)
{
    return type == CLUSTER_FRAME_CALL || type == CLUSTER_FRAME_RESULT || type == CLUSTER_FRAME_EACH;
}

/* Says whether such frames are counted: the others have credit. */
static bool is_counted(uint8_t type)
{
    return !cluster_send_queue_is_call(type) && type != CLUSTER_FRAME_BULK_DATA;
}

bool cluster_send_queue_is_empty(const struct cluster_send_queue *queue)
{
    return queue->next == queue->size;
}

/* Frames that were written make room; else the buffer grows. */
static bool reserve(struct cluster_send_queue *queue, size_t more)
{
    size_t capacity = queue->capacity ? queue->capacity : CAPACITY_FIRST;
    uint8_t *data;

    if (queue->frame > 0 && queue->capacity - queue->size < more) {
        memmove(queue->data, queue->data + queue->frame, queue->size - queue->frame);
        queue->next -= queue->frame;
        queue->size -= queue->frame;
        queue->fds_at -= queue->has_fds ? queue->frame : 0;
        queue->frame = 0;
    }
    if (queue->data && queue->capacity - queue->size >= more)
        return true;
    while (capacity - queue->size < more)
        capacity *= 2;
    data = realloc(queue->data, capacity);
    if (!data)
        return false;
    queue->data = data;
    queue->capacity = capacity;
    return true;
}

uint8_t *cluster_send_queue_add(struct cluster_send_queue *queue, const struct cluster_frame *frame)
{
    size_t size = CLUSTER_FRAME_SIZE + (size_t)frame->body_size;
    uint8_t *at;

    if (!reserve(queue, size)) {
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a frame of %zu bytes", size);
        return NULL;
    }
    at = queue->data + queue->size;
    cluster_frame_write(frame, at);
    queue->size += size;
    if (is_counted(frame->type))
        queue->control += size;
    return at + CLUSTER_FRAME_SIZE;
}

void cluster_send_queue_attach(struct cluster_send_queue *queue,
                               const int fds[CLUSTER_SEND_QUEUE_FDS])
{
    CHECK(!queue->has_fds);
    queue->has_fds = true;
    queue->fds_at = queue->size;
    memcpy(queue->fds, fds, sizeof queue->fds);
}

void cluster_send_queue_detach(struct cluster_send_queue *queue)
{
    close_fds(queue);
}

/* Notes the frames that are written wholly. The headers in the queue are our own. */
static void pass_frames(struct cluster_send_queue *queue)
{
    while (queue->frame < queue->next) {
        const uint8_t *header = queue->data + queue->frame;
        uint32_t body_size;
        size_t size;

        memcpy(&body_size, header, sizeof body_size);
        size = CLUSTER_FRAME_SIZE + (size_t)body_size;
        if (queue->next - queue->frame < size)
            return;
        if (is_counted(header[sizeof body_size]))
            queue->control -= size;
        queue->frame += size;
    }
    if (queue->next < queue->size)
        return;
    queue->frame = queue->next = queue->size = 0;
    if (queue->capacity > CAPACITY_IDLE)
        cluster_send_queue_fini(queue);
}

/* The descriptors are gone with the first byte that the transport takes. */
static ssize_t write_some(struct cluster_send_queue *queue,
                          const struct cluster_transport *transport)
{
    size_t size = queue->size - queue->next;
    bool with = queue->has_fds && queue->next == queue->fds_at;
    ssize_t n;

    if (queue->has_fds && !with)
        size = queue->fds_at - queue->next;
    n = transport->table->send(transport->self, transport->fd, queue->data + queue->next, size,
                               with ? queue->fds : NULL);
    if (with && n > 0)
        close_fds(queue);
    return n;
}

int cluster_send_queue_flush(struct cluster_send_queue *queue,
                             const struct cluster_transport *transport)
{
    int wrote = 0;

    while (!cluster_send_queue_is_empty(queue)) {
        ssize_t n = write_some(queue, transport);

        if (n <= 0)
            return n < 0 ? (int)n : wrote;
        wrote = 1;
        queue->next += (size_t)n;
        pass_frames(queue);
    }
    return wrote;
}
