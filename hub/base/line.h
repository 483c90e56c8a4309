/* SPDX-License-Identifier: Apache-2.0 */
/* line: memory aligned to 64 bytes, which is a cache line and the alignment of every vector
 * instruction. */
#ifndef HUB_BASE_LINE_H
#define HUB_BASE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUB_LINE 64u

static inline bool hub_line_begins(const void *at)
{
    return (uintptr_t)at % HUB_LINE == 0;
}

/* Returns the first aligned address from `at` on. */
static inline uint8_t *hub_line_next(void *at)
{
    return (uint8_t *)at + -(uintptr_t)at % HUB_LINE;
}

/* Allocate whole lines for `size` bytes; the second function zeroes them. NULL if there is no
 * memory. To be freed by free(). */
void *hub_line_alloc(size_t size);
void *hub_line_zeroed(size_t size);

#endif
