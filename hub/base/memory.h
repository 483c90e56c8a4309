/* SPDX-License-Identifier: Apache-2.0 */
/* memory: memory for tables that have space for their maximum and are mostly empty. */
#ifndef HUB_BASE_MEMORY_H
#define HUB_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Allocates zeroed memory in which untouched pages occupy nothing; calloc would clear, and so
 * touch, all of it. NULL if there is none. It is freed with the same size. */
void *hub_memory_sparse(size_t size);
void hub_memory_free_sparse(void *memory, size_t size);

#endif
