/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/pool_specs.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/txn.h"
#include "hub/base/check.h"
#include "hub/base/memory.h"

/* The record of a pool. Blocks are in the order in which they came; a block that its row does not
 * name any more is removed when its memory is needed. */
struct block {
    uint32_t place;
    uint32_t size; /* with this head */
};

struct row {
    uint32_t at; /* 1 more than the offset of its block; 0: there is none */
    uint32_t digest, spec, manifest, slots;
    struct cluster_record_pool numbers; /* without its views */
};

struct cluster_pool_specs {
    struct row *rows; /* by place */
    uint8_t *bytes;
    uint32_t pools, max, used;
};

int cluster_pool_specs_create(uint32_t max, struct cluster_pool_specs **out)
{
    struct cluster_pool_specs *specs = calloc(1, sizeof *specs);
    uint64_t most = max * (uint64_t)(2 * CLUSTER_TXN_VALUE_MAX);

    *out = specs;
    if (specs) {
        specs->pools = max;
        specs->max =
            most < CLUSTER_POOL_SPECS_BYTES_MAX ? (uint32_t)most : CLUSTER_POOL_SPECS_BYTES_MAX;
        specs->rows = hub_memory_sparse(((size_t)max + 1) * sizeof *specs->rows);
        specs->bytes = hub_memory_sparse(specs->max);
    }
    if (specs && specs->rows && specs->bytes)
        return 0;
    cluster_pool_specs_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the specs of %u pools", max);
}

void cluster_pool_specs_release(struct cluster_pool_specs **specs)
{
    if (*specs) {
        hub_memory_free_sparse((*specs)->rows,
                               ((size_t)(*specs)->pools + 1) * sizeof *(*specs)->rows);
        hub_memory_free_sparse((*specs)->bytes, (*specs)->max);
    }
    free(*specs);
    *specs = NULL;
}

/* Moves all blocks that are needed to the front. */
static void compact(struct cluster_pool_specs *specs)
{
    uint32_t from = 0, to = 0;

    while (from < specs->used) {
        struct block block;

        memcpy(&block, specs->bytes + from, sizeof block);
        if (specs->rows[block.place].at == from + 1) {
            memmove(specs->bytes + to, specs->bytes + from, block.size);
            specs->rows[block.place].at = to + 1;
            to += block.size;
        }
        from += block.size;
    }
    specs->used = to;
}

static void put(struct cluster_pool_specs *specs, struct rapahub_bytes bytes)
{
    if (bytes.size > 0)
        memcpy(specs->bytes + specs->used, bytes.data, bytes.size);
    specs->used += (uint32_t)bytes.size;
}

static struct row row_of(const struct cluster_record_pool *record)
{
    struct row row = {.digest = (uint32_t)record->digest.size,
                      .spec = (uint32_t)record->spec.size,
                      .manifest = (uint32_t)record->manifest.size,
                      .slots = (uint32_t)record->slots.encoded.size,
                      .numbers = *record};

    row.numbers.digest = row.numbers.spec = row.numbers.manifest = (struct rapahub_bytes){0};
    row.numbers.slots = (struct cluster_list){.count = record->slots.count};
    return row;
}

int cluster_pool_specs_set(struct cluster_pool_specs *specs, uint32_t place,
                           const struct cluster_record_pool *record)
{
    struct row row = row_of(record);
    size_t size = sizeof(struct block) + record->digest.size + record->spec.size +
                  record->manifest.size + record->slots.encoded.size;

    CHECK(place > 0 && place <= specs->pools);
    if (size > specs->max - specs->used)
        compact(specs);
    if (size > specs->max - specs->used)
        return rapahub_fail(RAPAHUB_EFULL, "cluster.map.bounds",
                            "the records of all pools have at most %u bytes", specs->max);
    row.at = specs->used + 1;
    put(specs,
        (struct rapahub_bytes){&(struct block){place, (uint32_t)size}, sizeof(struct block)});
    put(specs, record->digest);
    put(specs, record->spec);
    put(specs, record->manifest);
    put(specs, record->slots.encoded);
    specs->rows[place] = row;
    return 0;
}

void cluster_pool_specs_clear(struct cluster_pool_specs *specs, uint32_t place)
{
    specs->rows[place].at = 0;
}

struct cluster_record_pool cluster_pool_specs_of(const struct cluster_pool_specs *specs,
                                                 uint32_t place)
{
    const struct row *row = &specs->rows[place];
    struct cluster_record_pool record = row->numbers;
    const uint8_t *at = specs->bytes + row->at - 1 + sizeof(struct block);

    CHECK(row->at != 0);
    record.digest = (struct rapahub_bytes){at, row->digest};
    at += row->digest;
    record.spec = (struct rapahub_bytes){at, row->spec};
    at += row->spec;
    record.manifest = (struct rapahub_bytes){at, row->manifest};
    at += row->manifest;
    record.slots.encoded = (struct rapahub_bytes){at, row->slots};
    return record;
}
