/* SPDX-License-Identifier: Apache-2.0 */
/* store_keys: records of the metastore by their keys, read and written while a node starts.
 */
#ifndef CLUSTER_NODE_BOOT_STORE_KEYS_H
#define CLUSTER_NODE_BOOT_STORE_KEYS_H

#include "cluster/node/boot/store_wait.h"
#include "cluster/wire/record.h"

#define CLUSTER_STORE_KEYS_VALUE_MAX 1024 /* bytes of a record that is written here */

/* A pair that is to be put, with memory for both. */
struct cluster_store_keys_put {
    char key[CLUSTER_KEYS_SIZE_MAX];
    uint8_t value[CLUSTER_STORE_KEYS_VALUE_MAX];
    struct rapahub_bytes key_bytes, value_bytes;
};

/* Writes a key and its record; `record` NULL: a key alone. The views are of `out`. */
int cluster_store_keys_build(const struct cluster_key *key, const struct cluster_record *record,
                             struct cluster_store_keys_put *out);

/* Takes a record; `pair` is it as the store has it. All of it is good until this returns. */
typedef int cluster_store_keys_visit(void *user, const struct cluster_key *key,
                                     const struct cluster_pair *pair,
                                     const struct cluster_record *record);

/* Reads the record of a key; it is not visited where there is none. `revision` 0: as of now.
 * RAPAHUB_EFORMAT: it is not sound. */
int cluster_store_keys_get(const struct cluster_store_wait *wait, const struct cluster_key *key,
                           uint64_t revision, cluster_store_keys_visit *visit, void *user);

/* Reads all records whose keys begin as those of a kind, in their order; `record` is NULL for a
 * LOG, and for a MODULE_HAVE. */
int cluster_store_keys_all(const struct cluster_store_wait *wait, enum cluster_keys_kind kind,
                           uint64_t revision, cluster_store_keys_visit *visit, void *user);

#endif
