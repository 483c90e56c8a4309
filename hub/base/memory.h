/* SPDX-License-Identifier: Apache-2.0 */
/* memory: for tables that have room for the most there can be, and are nearly empty. */
#ifndef HUB_BASE_MEMORY_H
#define HUB_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory of which pages that nobody touches take none: calloc clears what it finds on its
 * heap, and so touches all. NULL: there is none. Given back with the same size. */
void *hub_memory_sparse(size_t size);
void hub_memory_free_sparse(void *memory, size_t size);

#endif
