/* SPDX-License-Identifier: Apache-2.0 */
/* pool_records: the records of the pools that the node knows, whole: with the spec and the
 * manifest, which the core does not keep. Owner.
 */
#ifndef CLUSTER_NODE_BASE_POOL_RECORDS_H
#define CLUSTER_NODE_BASE_POOL_RECORDS_H

#include <stdint.h>

#include "cluster/wire/pool_spec.h"
#include "cluster/wire/record.h"

struct cluster_pool_records;

struct cluster_pool_records_pool {
    uint64_t pool;
    struct cluster_record_pool record;
    struct cluster_pool_spec spec;         /* read from it */
    struct cluster_record_module manifest; /* the same */
    uint8_t bytes[];                       /* all that the members above are views of */
};

int cluster_pool_records_create(uint32_t most, struct cluster_pool_records **out);
void cluster_pool_records_release(struct cluster_pool_records **records);

/* Takes the value of a pool's key, in place of that of before. RAPAHUB_EFORMAT where record, spec
 * or manifest are not sound; -ENOSPC, -ENOMEM. Then nothing has changed. */
int cluster_pool_records_put(struct cluster_pool_records *records, uint64_t pool,
                             struct rapahub_bytes value);
void cluster_pool_records_remove(struct cluster_pool_records *records, uint64_t pool);

/* Returns a pool, or NULL. It is good until the next change. */
const struct cluster_pool_records_pool *cluster_pool_records_find(
    const struct cluster_pool_records *records, uint64_t pool);

#endif
