/* SPDX-License-Identifier: Apache-2.0 */
/* boot_lead: the record in the metastore that says which node leads, where the lead changes hands.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_LEAD_H
#define CLUSTER_NODE_BOOT_BOOT_LEAD_H

#include "cluster/core/session/lead.h"
#include "cluster/node/boot/store_wait.h"

/* Has this node lead in its session where none has led yet, or an earlier life of it was the last
 * one. Another one may be faster: that is no failure. */
int cluster_boot_lead_claim(const struct cluster_store_wait *wait, uint32_t node, uint64_t session);

/* Reads the record as it is at a revision; its term is 0 where there is none. */
int cluster_boot_lead_read(const struct cluster_store_wait *wait, uint64_t revision,
                           struct cluster_lead_record *out);

#endif
