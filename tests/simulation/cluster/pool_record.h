/* SPDX-License-Identifier: Apache-2.0 */
/* pool_record: the record of the one pool of a simulated node. */
#ifndef TESTS_SIMULATION_CLUSTER_POOL_RECORD_H
#define TESTS_SIMULATION_CLUSTER_POOL_RECORD_H

#include "cluster/wire/record.h"

#define POOL_RECORD_NUMBER     UINT64_C(0x0000010000000000)
#define POOL_RECORD_CONTAINERS 4
#define POOL_RECORD_ONCE       1 /* methods */
#define POOL_RECORD_REPEATS    2

/* Returns the record as it is read. It is good until the next call. */
const struct cluster_record_pool *pool_record_read(void);

/* The same with this durability. */
const struct cluster_record_pool *pool_record_durable(uint8_t durability);

#endif
