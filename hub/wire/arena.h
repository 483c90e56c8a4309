/* SPDX-License-Identifier: Apache-2.0 */
/* arena: blocks of memory that are freed as one. `void *blocks` is NULL at first. */
#ifndef HUB_WIRE_ARENA_H
#define HUB_WIRE_ARENA_H

#include <stddef.h>

/* Zeroed, aligned for anything; NULL for no memory. */
void *hub_arena_alloc(void **blocks, size_t size);

/* A copy, ended by 0. */
char *hub_arena_copy(void **blocks, const char *text, size_t size);

/* Frees all and leaves it empty. */
void hub_arena_release(void **blocks);

#endif
