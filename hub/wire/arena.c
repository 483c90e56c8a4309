/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/wire/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    max_align_t memory[];
};

void *hub_arena_alloc(void **blocks, size_t size)
{
    struct block *block;

    if (size > SIZE_MAX - sizeof(*block))
        return NULL;
    block = calloc(1, sizeof(*block) + size);
    if (!block)
        return NULL;
    block->next = *blocks;
    *blocks = block;
    return block->memory;
}

char *hub_arena_copy(void **blocks, const char *text, size_t size)
{
    char *copy = hub_arena_alloc(blocks, size + 1);

    if (copy && size)
        memcpy(copy, text, size);
    return copy;
}

void hub_arena_release(void **blocks)
{
    struct block *next;

    for (struct block *block = *blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    *blocks = NULL;
}
