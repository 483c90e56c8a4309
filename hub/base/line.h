/* SPDX-License-Identifier: Apache-2.0 */
/* line: memory that begins at a multiple of 64, a cache line and what every vector instruction asks
 * of an aligned address. */
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

/* The first one at `at` or behind it. */
static inline uint8_t *hub_line_next(void *at)
{
    return (uint8_t *)at + -(uintptr_t)at % HUB_LINE;
}

/* Whole lines for so many bytes, the second one zeroed; NULL: none. Freed by free. */
void *hub_line_alloc(size_t size);
void *hub_line_zeroed(size_t size);

#endif
