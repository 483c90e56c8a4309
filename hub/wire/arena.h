/* SPDX-License-Identifier: Apache-2.0 */
/* arena: blocks of memory that are freed together. `void *blocks` is NULL at first. */
#ifndef HUB_WIRE_ARENA_H
#define HUB_WIRE_ARENA_H

#include <stddef.h>

/* Returns zeroed memory, aligned for any type, or NULL if there is none. */
void *hub_arena_alloc(void **blocks, size_t size);

/* Returns a copy of the text, ended by 0, or NULL if there is no memory. */
char *hub_arena_copy(void **blocks, const char *text, size_t size);

/* Frees all blocks; the arena is empty afterwards. */
void hub_arena_release(void **blocks);

#endif
