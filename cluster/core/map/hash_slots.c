/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/hash_slots.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/memory.h"

struct row {
    uint32_t count, containers;
    uint32_t listed;                     /* 0: they are as at creation */
    uint16_t of[CLUSTER_POOL_SLOTS_MAX]; /* most pools never touch it */
};

struct cluster_hash_slots {
    uint32_t pools;
    struct row fresh; /* a record's, until it is known to be sound */
    struct row rows[];
};

static size_t size_of(uint32_t pools)
{
    return sizeof(struct cluster_hash_slots) + pools * sizeof(struct row);
}

int cluster_hash_slots_create(uint32_t pools, struct cluster_hash_slots **out)
{
    *out = hub_memory_sparse(size_of(pools));
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the slots of %u pools", pools);
    (*out)->pools = pools;
    return 0;
}

void cluster_hash_slots_release(struct cluster_hash_slots **slots)
{
    if (*slots)
        hub_memory_free_sparse(*slots, size_of((*slots)->pools));
    *slots = NULL;
}

static struct cluster_pool_slots view_of(const struct row *row)
{
    return (struct cluster_pool_slots){
        .of = row->listed > 0 ? row->of : NULL, .count = row->count, .containers = row->containers};
}

static int read(struct row *row, const struct cluster_record_pool *record)
{
    struct cluster_list list = record->slots;
    struct cluster_pool_slots view;
    uint16_t container;

    row->count = record->slots_count;
    row->containers = record->containers;
    row->listed = 0;
    while (row->listed < CLUSTER_POOL_SLOTS_MAX && cluster_record_next_slot(&list, &container))
        row->of[row->listed++] = container;
    view = view_of(row);
    if ((row->listed > 0 && row->listed != row->count) || !cluster_pool_has_sound_slots(&view))
        return rapahub_fail(RAPAHUB_EFORMAT, "cluster.pool.slots",
                            "a pool of %u containers has no such %u slots", row->containers,
                            row->count);
    return 0;
}

int cluster_hash_slots_check(struct cluster_hash_slots *slots,
                             const struct cluster_record_pool *record)
{
    return read(&slots->fresh, record);
}

int cluster_hash_slots_set(struct cluster_hash_slots *slots, uint32_t place,
                           const struct cluster_record_pool *record)
{
    int status = read(&slots->fresh, record);
    struct row *row;

    CHECK(place > 0 && place <= slots->pools);
    if (status < 0)
        return status;
    row = &slots->rows[place - 1];
    memcpy(row, &slots->fresh, offsetof(struct row, of) + slots->fresh.listed * sizeof *row->of);
    return 0;
}

uint32_t cluster_hash_slots_container(const struct cluster_hash_slots *slots, uint32_t place,
                                      uint64_t hash)
{
    struct cluster_pool_slots view;

    CHECK(place > 0 && place <= slots->pools);
    view = view_of(&slots->rows[place - 1]);
    CHECK(view.count > 0);
    return cluster_pool_container(&view, hash);
}
