/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/base/pool_records.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/id_map.h"
#include "hub/base/own.h"

struct cluster_pool_records {
    struct hub_id_map *pools;
};

int cluster_pool_records_create(uint32_t most, struct cluster_pool_records **out)
{
    struct cluster_pool_records *records = calloc(1, sizeof *records);

    *out = records;
    if (records && hub_id_map_create(most, &records->pools) == 0)
        return 0;
    cluster_pool_records_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the records of %u pools", most);
}

static void free_pool(void *user, uint64_t number, void *pool)
{
    (void)user;
    (void)number;
    free(pool);
}

void cluster_pool_records_release(struct cluster_pool_records **records)
{
    if (*records && (*records)->pools)
        hub_id_map_each((*records)->pools, free_pool, NULL);
    if (*records)
        hub_id_map_release(&(*records)->pools);
    free(*records);
    *records = NULL;
}

static int read_record(struct cluster_pool_records_pool *pool, size_t size)
{
    struct cluster_record record;
    int status =
        cluster_record_read(CLUSTER_KEY_POOL, (struct rapahub_bytes){pool->bytes, size}, &record);

    if (status < 0)
        return status;
    pool->record = record.pool;
    status = cluster_pool_spec_read(pool->record.spec, &pool->spec);
    if (status == 0)
        status = cluster_record_read(CLUSTER_KEY_MODULE, pool->record.manifest, &record);
    if (status == 0)
        pool->manifest = record.module;
    return status;
}

int cluster_pool_records_put(struct cluster_pool_records *records, uint64_t number,
                             struct rapahub_bytes value)
{
    OWN(hub_memory) struct cluster_pool_records_pool *pool = malloc(sizeof *pool + value.size);
    void *before;
    int status;

    if (!pool)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the record of a pool");
    pool->pool = number;
    memcpy(pool->bytes, value.data, value.size);
    status = read_record(pool, value.size);
    if (status < 0)
        return status;
    before = hub_id_map_remove(records->pools, number);
    status = hub_id_map_put(records->pools, number, pool);
    if (status < 0)
        return rapahub_fail(status, "cluster.map.bounds", "there are too many pools");
    free(before);
    (void)TAKE(pool);
    return 0;
}

void cluster_pool_records_remove(struct cluster_pool_records *records, uint64_t number)
{
    free(hub_id_map_remove(records->pools, number));
}

const struct cluster_pool_records_pool *cluster_pool_records_find(
    const struct cluster_pool_records *records, uint64_t number)
{
    return hub_id_map_get(records->pools, number);
}
