/* SPDX-License-Identifier: Apache-2.0 */
/* memory: memory for tables that have space for their maximum and are mostly empty, and for bytes
 * that a peer makes this process keep. */
#ifndef HUB_BASE_MEMORY_H
#define HUB_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Allocates zeroed memory in which untouched pages occupy nothing; calloc would clear, and so
 * touch, all of it. NULL if there is none. It is freed with the same size. */
void *hub_memory_sparse(size_t size);
void hub_memory_free_sparse(void *memory, size_t size);

/* Gives the pages of a part of such memory back that lie in it wholly. The part is not needed
 * any more, and it is not used again. */
void hub_memory_forget(void *part, size_t size);

/* Allocates memory that begins at a cache line, for bytes that are charged to the budget of a peer.
 * A large block has a mapping of its own: it goes back to the system when it is freed. In the heap
 * small blocks that outlive it would keep its pages, and the process would grow beyond the budget.
 * NULL if there is none. It is freed with the same size. Any thread. */
void *hub_memory_charged(size_t size);
void hub_memory_free_charged(void *memory, size_t size);

#endif
