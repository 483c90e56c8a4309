/* SPDX-License-Identifier: Apache-2.0 */
/* boot_read: what the metastore has when a node starts, as it is told to the core; and the log of
 * the map, brought to the same revision.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_READ_H
#define CLUSTER_NODE_BOOT_BOOT_READ_H

#include "cluster/node/boot/boot.h"

/* Each function gets records with the revision that put them, in this order: pools, `reading`,
 * entries, operations, modules. Records are good until the function returns. A failure ends the
 * reading. */
struct cluster_boot_read_visitor {
    int (*pool)(void *user, uint64_t pool, uint64_t revision,
                const struct cluster_record_pool *record);
    int (*reading)(void *user, uint64_t revision,
                   uint64_t last); /* `last`: the last delta's; 0: none */
    int (*entry)(void *user, const struct cluster_key *key, uint64_t revision,
                 const struct cluster_entry *entry);
    int (*operation)(void *user, const struct cluster_key *key, uint64_t revision,
                     const struct cluster_record_operation *record); /* OPERATION, RECOVERY */
    int (*module)(void *user, const struct cluster_key *key, uint64_t revision,
                  const struct cluster_record_module *record);
};

/* Reads all of it at one revision, and tells it; `visitor` NULL: it is only read. Where the log of
 * the map is not at the last delta a snapshot of the entries is written, so that it can be
 * continued by the thread of the disk. Files of modules that it does not have are removed.
 * RAPAHUB_EFORMAT: a record is not sound. RAPAHUB_ESTOREOLD: the log has a delta that the metastore
 * does not have. */
int cluster_boot_read_all(struct cluster_boot *boot,
                          const struct cluster_boot_read_visitor *visitor, void *user);

#endif
