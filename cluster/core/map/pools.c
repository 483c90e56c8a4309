/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/map/pools.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "cluster/core/map/hash_slots.h"
#include "cluster/core/map/pool_specs.h"
#include "hub/base/check.h"

struct row {
    struct cluster_pools_pool pool;
    struct cluster_pools_method methods[CLUSTER_RECORD_METHODS_MAX]; /* rising by id */
};

struct cluster_pools {
    struct cluster_table rows;
    struct cluster_index index; /* by number */
    struct cluster_hash_slots *slots;
    struct cluster_pool_specs *specs;
    struct row fresh; /* a record's, until it is known to be sound */
};

int cluster_pools_create(uint32_t max, uint64_t secret, struct cluster_pools **out)
{
    struct cluster_pools *pools = calloc(1, sizeof *pools);

    *out = pools;
    if (pools && cluster_table_init(&pools->rows, max, sizeof(struct row)) == 0 &&
        cluster_index_init(&pools->index, max, secret) == 0 &&
        cluster_hash_slots_create(max, &pools->slots) == 0 &&
        cluster_pool_specs_create(max, &pools->specs) == 0)
        return 0;
    cluster_pools_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u pools", max);
}

void cluster_pools_release(struct cluster_pools **pools)
{
    if (*pools) {
        cluster_pool_specs_release(&(*pools)->specs);
        cluster_hash_slots_release(&(*pools)->slots);
        cluster_index_fini(&(*pools)->index);
        cluster_table_fini(&(*pools)->rows);
    }
    free(*pools);
    *pools = NULL;
}

static uint32_t hash_of(const struct cluster_pools *pools, uint64_t pool)
{
    return cluster_index_hash(&pools->index, pool, 0, 0);
}

static struct row *find(const struct cluster_pools *pools, uint64_t pool)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&pools->index, hash_of(pools, pool), &cursor);

    for (; place != 0; place = cluster_index_next(&pools->index, &cursor)) {
        struct row *row = cluster_table_at(&pools->rows, place);

        if (row->pool.pool == pool)
            return row;
    }
    return NULL;
}

const struct cluster_pools_pool *cluster_pools_find(const struct cluster_pools *pools,
                                                    uint64_t pool)
{
    const struct row *row = find(pools, pool);

    return row ? &row->pool : NULL;
}

const struct cluster_pools_pool *cluster_pools_after(const struct cluster_pools *pools,
                                                     uint32_t place)
{
    uint32_t next = cluster_table_after(&pools->rows, place);

    return next != 0 ? &((const struct row *)cluster_table_at(&pools->rows, next))->pool : NULL;
}

const struct cluster_pools_pool *cluster_pools_named(const struct cluster_pools *pools,
                                                     struct rapahub_string name)
{
    const struct cluster_pools_pool *pool = cluster_pools_after(pools, 0);

    while (pool && (strlen(pool->name) != name.size || name.size == 0 ||
                    memcmp(pool->name, name.data, name.size) != 0))
        pool = cluster_pools_after(pools, pool->place);
    return pool;
}

static int by_id(const void *one, const void *other)
{
    uint64_t a = ((const struct cluster_pools_method *)one)->id;
    uint64_t b = ((const struct cluster_pools_method *)other)->id;

    return (a > b) - (a < b);
}

static struct cluster_pools_method *seek(const struct row *row, uint64_t id)
{
    const struct cluster_pools_method key = {.id = id};

    return bsearch(&key, row->methods, row->pool.methods, sizeof key, by_id);
}

static int read_methods(struct row *row, struct rapahub_bytes manifest)
{
    struct cluster_record record;
    struct cluster_record_method method;
    struct cluster_list list;
    int status = cluster_record_read(CLUSTER_KEY_MODULE, manifest, &record);

    if (status < 0)
        return status;
    list = record.module.methods;
    row->pool.methods = 0;
    while (row->pool.methods < CLUSTER_RECORD_METHODS_MAX &&
           cluster_record_next_method(&list, &method))
        row->methods[row->pool.methods++] = (struct cluster_pools_method){.id = method.id};
    qsort(row->methods, row->pool.methods, sizeof *row->methods, by_id);
    return 0;
}

/* The spec may say something of a method that this version of the module does not have. */
static int read_spec(struct row *row, struct rapahub_bytes bytes)
{
    struct cluster_pool_spec spec;
    struct cluster_pool_method said;
    int status = cluster_pool_spec_read(bytes, &spec);

    if (status < 0)
        return status;
    row->pool.durability = spec.durability;
    row->pool.on_daemon_death = spec.on_daemon_death;
    row->pool.copies = (uint8_t)spec.copies;
    row->pool.min_copies = (uint8_t)spec.min_copies;
    memset(row->pool.name, 0, sizeof row->pool.name);
    memcpy(row->pool.name, spec.name.data, spec.name.size);
    for (uint32_t i = 0; i < row->pool.methods; i++)
        row->methods[i].repeat = spec.repeat_all;
    while (cluster_pool_spec_next_method(&spec.methods, &said)) {
        struct cluster_pools_method *method = seek(row, said.id);

        if (method) {
            method->repeat = method->repeat || said.repeat;
            method->outside = said.outside;
        }
    }
    return 0;
}

static int read(struct row *row, const struct cluster_record_pool *record)
{
    int status = read_methods(row, record->manifest);

    row->pool.state = record->state;
    row->pool.containers = record->containers;
    return status < 0 ? status : read_spec(row, record->spec);
}

static struct row *add(struct cluster_pools *pools, uint64_t pool)
{
    uint32_t place = cluster_table_take(&pools->rows);
    struct row *row;

    if (place == 0)
        return NULL;
    row = cluster_table_at(&pools->rows, place);
    row->pool.pool = pool;
    row->pool.place = place;
    cluster_index_put(&pools->index, hash_of(pools, pool), place);
    return row;
}

static void set(struct row *row, const struct row *fresh, uint64_t revision)
{
    uint64_t pool = row->pool.pool;
    uint32_t place = row->pool.place;

    row->pool = fresh->pool;
    row->pool.pool = pool;
    row->pool.place = place;
    row->pool.revision = revision;
    memcpy(row->methods, fresh->methods, fresh->pool.methods * sizeof *fresh->methods);
}

/* Wholly or not at all: the slots are known to be sound before the rest is kept. */
static int keep(struct cluster_pools *pools, uint32_t place,
                const struct cluster_record_pool *record)
{
    int status = cluster_hash_slots_check(pools->slots, record);

    if (status == 0)
        status = cluster_pool_specs_set(pools->specs, place, record);
    return status < 0 ? status : cluster_hash_slots_set(pools->slots, place, record);
}

/* r[impl cluster.map.pools] */
int cluster_pools_put(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                      const struct cluster_record_pool *record)
{
    struct row *row = find(pools, pool);
    bool known = row;
    int status;

    if (row && row->pool.revision >= revision)
        return 0;
    status = read(&pools->fresh, record);
    if (status < 0)
        return status;
    row = row ? row : add(pools, pool);
    if (!row)
        return rapahub_fail(RAPAHUB_EFULL, "", "a node knows at most %u pools", pools->rows.max);
    status = keep(pools, row->pool.place, record);
    if (status == 0)
        set(row, &pools->fresh, revision);
    else if (!known)
        cluster_pools_remove(pools, pool);
    return status;
}

void cluster_pools_set_state(struct cluster_pools *pools, uint64_t pool, uint64_t revision,
                             enum cluster_pool_state state)
{
    struct row *row = find(pools, pool);

    CHECK(row && revision >= row->pool.revision);
    row->pool.revision = revision;
    row->pool.state = (uint8_t)state;
}

struct cluster_record_pool cluster_pools_record(const struct cluster_pools *pools,
                                                const struct cluster_pools_pool *pool)
{
    struct cluster_record_pool record = cluster_pool_specs_of(pools->specs, pool->place);

    record.state = pool->state;
    return record;
}

void cluster_pools_remove(struct cluster_pools *pools, uint64_t pool)
{
    const struct row *row = find(pools, pool);

    if (!row)
        return;
    cluster_pool_specs_clear(pools->specs, row->pool.place);
    cluster_index_remove(&pools->index, hash_of(pools, pool), row->pool.place);
    cluster_table_give(&pools->rows, row->pool.place);
}

const struct cluster_pools_method *cluster_pools_method(const struct cluster_pools *pools,
                                                        const struct cluster_pools_pool *pool,
                                                        uint64_t id)
{
    return seek(cluster_table_at(&pools->rows, pool->place), id);
}

uint32_t cluster_pools_container(const struct cluster_pools *pools,
                                 const struct cluster_pools_pool *pool, uint64_t hash)
{
    return cluster_hash_slots_container(pools->slots, pool->place, hash);
}
