/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define CHUNK ((size_t)4 << 10)
#define ALIGN (sizeof(max_align_t))

struct cluster_etcd_arena_chunk {
    struct cluster_etcd_arena_chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

/* Each chunk is as large as all before it, so there are few. */
static struct cluster_etcd_arena_chunk *add_chunk(struct cluster_etcd_arena *arena, size_t size)
{
    struct cluster_etcd_arena_chunk *last = arena->chunks, *chunk;
    size_t room = last ? 2 * last->size : CHUNK;

    if (room < size)
        room = size;
    if (room > arena->left)
        room = arena->left;
    chunk = malloc(sizeof *chunk + room);
    if (!chunk)
        return NULL;
    *chunk = (struct cluster_etcd_arena_chunk){.next = last, .size = room};
    arena->left -= room;
    arena->chunks = chunk;
    return chunk;
}

void *cluster_etcd_arena_take(struct cluster_etcd_arena *arena, size_t size)
{
    struct cluster_etcd_arena_chunk *chunk = arena->chunks;
    void *taken;

    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (!chunk || chunk->size - chunk->used < size) {
        if (size > arena->left)
            return NULL;
        chunk = add_chunk(arena, size);
    }
    if (!chunk)
        return NULL;
    taken = (char *)chunk->bytes + chunk->used;
    chunk->used += size;
    return memset(taken, 0, size);
}

int cluster_etcd_arena_reserve(struct cluster_etcd_arena *arena, size_t size)
{
    if (size <= arena->left && add_chunk(arena, size))
        return 0;
    return rapahub_fail(RAPAHUB_ENOMEM, "", "a request to etcd: out of memory");
}

void cluster_etcd_arena_fini(struct cluster_etcd_arena *arena)
{
    struct cluster_etcd_arena_chunk *next;

    for (; arena->chunks; arena->chunks = next) {
        next = arena->chunks->next;
        free(arena->chunks);
    }
    arena->left = 0;
}
