/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/link/fifo.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 256

uint32_t hub_fifo_size(const struct hub_fifo *fifo)
{
    return fifo->tail - fifo->head;
}

const uint8_t *hub_fifo_front(const struct hub_fifo *fifo)
{
    return fifo->data ? fifo->data + fifo->head : NULL;
}

static void move_to_start(struct hub_fifo *fifo, uint8_t *to)
{
    if (fifo->tail > fifo->head)
        memmove(to, fifo->data + fifo->head, fifo->tail - fifo->head);
    fifo->tail -= fifo->head;
    fifo->head = 0;
}

/* At least twice what is needed: so each byte is moved about once. */
static int grow(struct hub_fifo *fifo, uint64_t need)
{
    uint64_t capacity = fifo->capacity > LEAST ? fifo->capacity : LEAST;
    uint8_t *data;

    while (capacity < 2 * need)
        capacity *= 2;
    if (capacity > UINT32_MAX)
        return -1;
    data = malloc(capacity);
    if (!data)
        return -1;
    move_to_start(fifo, data);
    free(fifo->data);
    fifo->data = data;
    fifo->capacity = (uint32_t)capacity;
    return 0;
}

void *hub_fifo_reserve(struct hub_fifo *fifo, uint32_t size)
{
    uint64_t need = (uint64_t)hub_fifo_size(fifo) + size;

    if (fifo->head == fifo->tail)
        fifo->head = fifo->tail = 0;
    if (!fifo->data || need > fifo->capacity / 2) {
        if (grow(fifo, need) < 0)
            return NULL;
    } else if (size > fifo->capacity - fifo->tail) {
        move_to_start(fifo, fifo->data);
    }
    return fifo->data + fifo->tail;
}

void hub_fifo_commit(struct hub_fifo *fifo, uint32_t size)
{
    fifo->tail += size;
}

void hub_fifo_take(struct hub_fifo *fifo, uint32_t size)
{
    fifo->head += size;
}

void hub_fifo_fini(struct hub_fifo *fifo)
{
    free(fifo->data);
    *fifo = (struct hub_fifo){0};
}
