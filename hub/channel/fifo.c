/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/channel/fifo.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 256u
#define LINE  64u /* whole lines are copied from line to line, which is quicker */
#define MOST  (UINT32_C(1) << 31)

uint32_t hub_fifo_size(const struct hub_fifo *fifo)
{
    return fifo->tail - fifo->head;
}

static uint32_t run_at(const struct hub_fifo *fifo, uint32_t index)
{
    return fifo->capacity - (index & (fifo->capacity - 1));
}

/* Copies the filled part to the start of new memory. */
static void move_out(struct hub_fifo *fifo, uint8_t *to)
{
    uint32_t size = hub_fifo_size(fifo);
    uint32_t first = size > 0 ? run_at(fifo, fifo->head) : 0;

    if (first > size)
        first = size;
    if (first > 0)
        memcpy(to, fifo->data + (fifo->head & (fifo->capacity - 1)), first);
    if (size > first)
        memcpy(to + first, fifo->data, size - first);
    fifo->head = 0;
    fifo->tail = size;
}

/* A reader with lent bytes continues to read them in the old memory, which is not written any
 * more. */
static bool grow(struct hub_fifo *fifo, uint64_t need)
{
    uint64_t capacity = fifo->capacity > 0 ? fifo->capacity : LEAST;
    uint8_t *data;

    while (capacity < need)
        capacity *= 2;
    data = capacity <= MOST ? aligned_alloc(LINE, capacity) : NULL;
    if (!data)
        return false;
    move_out(fifo, data);
    if (fifo->lent && !fifo->left)
        fifo->left = fifo->data;
    else
        free(fifo->data);
    fifo->data = data;
    fifo->capacity = (uint32_t)capacity;
    return true;
}

/* An empty fifo starts again at its beginning, in recently used memory. */
bool hub_fifo_reserve(struct hub_fifo *fifo, uint32_t size)
{
    uint64_t need = (uint64_t)hub_fifo_size(fifo) + size;

    if (fifo->head == fifo->tail)
        fifo->head = fifo->tail = 0;
    return (fifo->data && need <= fifo->capacity) || grow(fifo, need);
}

uint8_t *hub_fifo_room(const struct hub_fifo *fifo, uint32_t at, uint32_t *run)
{
    uint32_t index = fifo->tail + at;

    *run = run_at(fifo, index);
    return fifo->data + (index & (fifo->capacity - 1));
}

void hub_fifo_commit(struct hub_fifo *fifo, uint32_t size)
{
    fifo->tail += size;
}

const uint8_t *hub_fifo_lend(struct hub_fifo *fifo, uint32_t *size)
{
    uint32_t there = hub_fifo_size(fifo), run = there > 0 ? run_at(fifo, fifo->head) : 0;

    *size = run < there ? run : there;
    if (there == 0)
        return NULL;
    fifo->lent = true;
    return fifo->data + (fifo->head & (fifo->capacity - 1));
}

void hub_fifo_pop(struct hub_fifo *fifo, uint32_t size)
{
    fifo->head += size;
    fifo->lent = false;
    free(fifo->left);
    fifo->left = NULL;
}

void hub_fifo_move(struct hub_fifo *to, struct hub_fifo *from)
{
    *to = *from;
    *from = (struct hub_fifo){0};
}

void hub_fifo_fini(struct hub_fifo *fifo)
{
    free(fifo->left);
    free(fifo->data);
    *fifo = (struct hub_fifo){0};
}
