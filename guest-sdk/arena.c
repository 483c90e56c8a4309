/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/arena.h"

#include <stdlib.h>

#include "hub/base/line.h"

struct guest_block {
    struct guest_block *next;
    unsigned char room[HUB_LINE]; /* space for aligning the memory to a cache line */
};

__attribute__((noinline)) void *guest_arena_alloc(struct guest_arena *arena, size_t size)
{
    struct guest_block *block;

    if (size > SIZE_MAX - sizeof *block)
        return NULL;
    block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return hub_line_next(block->room);
}

__attribute__((noinline)) void guest_arena_fini(struct guest_arena *arena)
{
    while (arena->blocks) {
        struct guest_block *block = arena->blocks;

        arena->blocks = block->next;
        free(block);
    }
}
