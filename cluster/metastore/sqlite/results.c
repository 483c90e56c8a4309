/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/sqlite/results.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)8 << 10)
#define ROOM_FIRST 8

struct cluster_results_block { /* copies in it are never moved */
    struct cluster_results_block *next;
    size_t used, size;
    uint8_t data[];
};

static bool keep(struct cluster_results *results, struct rapahub_bytes *bytes)
{
    struct cluster_results_block *block = results->blocks;

    if (!block || block->size - block->used < bytes->size) {
        size_t size = bytes->size > BLOCK_SIZE ? bytes->size : BLOCK_SIZE;

        block = malloc(sizeof *block + size);
        if (!block)
            return false;
        *block = (struct cluster_results_block){.next = results->blocks, .size = size};
        results->blocks = block;
    }
    if (bytes->size > 0)
        memcpy(block->data + block->used, bytes->data, bytes->size);
    bytes->data = block->data + block->used;
    block->used += bytes->size;
    results->bytes += bytes->size;
    return true;
}

static bool grow(void *array, size_t item, size_t room)
{
    void **at = array, *more = realloc(*at, room * item);

    if (more)
        *at = more;
    return more != NULL;
}

int cluster_results_add(struct cluster_results *results, const struct cluster_pair *pair)
{
    struct cluster_pair copy = *pair;

    if (results->pairs_count == results->pairs_room) {
        size_t room = results->pairs_room ? 2 * results->pairs_room : ROOM_FIRST;

        if (!grow(&results->pairs, sizeof copy, room))
            return -ENOMEM;
        results->pairs_room = room;
    }
    if (!keep(results, &copy.key) || !keep(results, &copy.value))
        return -ENOMEM;
    results->pairs[results->pairs_count++] = copy;
    return 0;
}

int cluster_results_add_change(struct cluster_results *results, uint64_t rev,
                               const struct cluster_change *change)
{
    struct cluster_change copy = *change;

    if (results->changes_count == results->changes_room) {
        size_t room = results->changes_room ? 2 * results->changes_room : ROOM_FIRST;

        if (!grow(&results->changes, sizeof copy, room) || !grow(&results->revs, sizeof rev, room))
            return -ENOMEM;
        results->changes_room = room;
    }
    if (!keep(results, &copy.pair.key) || !keep(results, &copy.pair.value))
        return -ENOMEM;
    results->changes[results->changes_count] = copy;
    results->revs[results->changes_count++] = rev;
    return 0;
}

void cluster_results_clear(struct cluster_results *results)
{
    while (results->blocks) {
        struct cluster_results_block *block = results->blocks;

        results->blocks = block->next;
        free(block);
    }
    free(results->pairs);
    free(results->changes);
    free(results->revs);
    *results = (struct cluster_results){0};
}
