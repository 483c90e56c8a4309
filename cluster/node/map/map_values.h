/* SPDX-License-Identifier: Apache-2.0 */
/* map_values: what events of the metastore have as their bodies, read. Owner.
 */
#ifndef CLUSTER_NODE_MAP_MAP_VALUES_H
#define CLUSTER_NODE_MAP_MAP_VALUES_H

#include "cluster/core/core.h"
#include "cluster/node/base/pool_records.h"
#include "cluster/wire/record.h"

/* Reads the value of a key into `record`, or into `pools`, and has the event name it; its body is a
 * view of the bytes of before. An event of another kind stays as it is. A failure: the value is not
 * sound. The record of a node that is not sound is said, and is the event's status. */
int cluster_map_values_read(struct cluster_pool_records *pools, struct cluster_event *event,
                            struct cluster_record *record);

#endif
