/* SPDX-License-Identifier: Apache-2.0 */
/* store_model: a metastore as its interface describes it, in memory and at once. It holds what was
 * written over crashes of the node. */
#ifndef TESTS_SIMULATION_CLUSTER_STORE_MODEL_H
#define TESTS_SIMULATION_CLUSTER_STORE_MODEL_H

#include "cluster/base/keys.h"
#include "cluster/base/txn.h"
#include "cluster/wire/record.h"

#define STORE_MODEL_PAIRS 400
#define STORE_MODEL_VALUE 8192

struct store_model_pair {
    struct cluster_key named; /* by the text of the key */
    char key[CLUSTER_KEYS_SIZE_MAX];
    uint32_t key_size, value_size;
    uint64_t create_rev, mod_rev; /* mod_rev 0: the place is free */
    uint8_t *value;
};

struct store_model {
    uint64_t revision;
    uint32_t count;
    struct store_model_pair pairs[STORE_MODEL_PAIRS];
    uint8_t values[STORE_MODEL_PAIRS][STORE_MODEL_VALUE];
};

void store_model_init(struct store_model *store);

/* Returns CLUSTER_TXN_OK or CLUSTER_TXN_CONFLICT, at revision `store->revision`. */
int store_model_run(struct store_model *store, const struct cluster_txn *txn);

/* Returns the pair of a key, not of a name's, or NULL. */
const struct store_model_pair *store_model_find(const struct store_model *store,
                                                const struct cluster_key *key);
const struct store_model_pair *store_model_find_bytes(const struct store_model *store,
                                                      struct rapahub_bytes key);

/* Returns the next pair after a place, with its key and, unless it is LOG, its record; NULL: there
 * is none. After 0 comes the first. */
const struct store_model_pair *store_model_next(const struct store_model *store, uint32_t *place,
                                                struct cluster_key *key,
                                                struct cluster_record *record);

#endif
