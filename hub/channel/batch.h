/* SPDX-License-Identifier: Apache-2.0 */
/* batch: small elements of one channel, written while it is corked, joined into one element in
 * private memory: another write costs a copy and no lock. Its writer sends it before it waits, when
 * it is uncorked, and when no more fit. The sender alone decides how a stream is cut into elements.
 *
 * One thread at a time writes a channel, but not always the same one: the previous writer may wait
 * in the library, and send what it left there, when the next one writes already. So each claims the
 * batch. r[impl hub.ring.cork]
 */
#ifndef HUB_CHANNEL_BATCH_H
#define HUB_CHANNEL_BATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "hub/base/atomic.h"

#define HUB_BATCH_BYTES 2048 /* size of a joined element; two fit a small slot */
#define HUB_BATCH_MOST  64   /* writes in it */
#define HUB_BATCH_SMALL 512  /* bytes of a write; a larger one is an element by itself */

/* Zeroed: no batch. */
struct hub_batch {
    struct hub_a32 busy;   /* 1: the other members belong to one thread now */
    struct hub_a64 writer; /* the last thread that wrote */
    uint8_t *data;         /* NULL: it was never needed */
    uint32_t size, count;  /* bytes and writes in it */
    uint32_t left;         /* bytes for which there is space and credit */
};

/* Identifies the calling thread, as long as it lives. */
static inline uint64_t hub_batch_self(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

static inline bool hub_batch_try(struct hub_batch *batch)
{
    return hub_claim(&batch->busy, 0, 1);
}

/* Claims the batch, after waiting for the thread that uses it. */
void hub_batch_claim(struct hub_batch *batch);

static inline void hub_batch_release(struct hub_batch *batch)
{
    hub_publish(&batch->busy, 0);
}

/* Allocates its memory: false if there is none. */
bool hub_batch_reserve(struct hub_batch *batch);

/* Most elements are a record or a line: these are copied without a function call. */
static inline void hub_batch_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size - 16 <= 16) {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else if (size - 8 <= 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else {
        memcpy(to, from, size);
    }
}

/* Adds a write of at most `left` bytes, by the thread that claimed the batch. */
static inline void hub_batch_add(struct hub_batch *batch, const void *from, size_t size)
{
    hub_batch_copy(batch->data + batch->size, from, size);
    batch->size += (uint32_t)size;
    batch->left -= (uint32_t)size;
    batch->count++;
    hub_store_relaxed64(&batch->writer, hub_batch_self());
}

/* Says whether another write like the last one would not fit. */
static inline bool hub_batch_is_full(const struct hub_batch *batch, size_t size)
{
    return batch->count >= HUB_BATCH_MOST || batch->left < size;
}

/* Its content is sent, or of no use any more. */
static inline void hub_batch_empty(struct hub_batch *batch)
{
    batch->size = batch->count = batch->left = 0;
}

void hub_batch_fini(struct hub_batch *batch);

#endif
